import type { Knex } from 'knex';

/** Attestation nonces of SVC_NONCE_STORE=postgres. Unlogged: after a database crash every outstanding nonce is unknown. */
export const up = (db: Knex) =>
  db.raw(`
    create unlogged table nonces (
      nonce_id text primary key,
      nonce bytea not null,
      source text,
      issued_at timestamptz not null default now(),
      expires_at timestamptz not null,
      used_at timestamptz
    );
    create index nonces_expires on nonces (expires_at);
  `);
