import type { Knex } from 'knex';

/** Tokens are found by their SHA-256 and can be read again (attest repeats the outstanding one): sealed by the service key. */
export const up = (db: Knex) =>
  db.raw(`
    create table config_tokens (
      token_sha256 text primary key,
      machine_id uuid not null references machines on delete cascade,
      key_id text not null,
      nonce bytea not null,
      ciphertext bytea not null,
      tag bytea not null,
      created_at timestamptz not null default now(),
      consumed_at timestamptz
    );
    create index config_tokens_machine on config_tokens (machine_id);
  `);
