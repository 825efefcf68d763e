import type { Knex } from 'knex';

export const up = (db: Knex) =>
  db.raw(`
    create table machine_secrets (
      secret_id uuid primary key,
      machine_id uuid not null references machines on delete cascade,
      name text not null check (length(name) between 1 and 128),
      encrypted_value bytea not null,
      nonce bytea not null check (length(nonce) = 12),
      tag bytea not null check (length(tag) = 16),
      encryption_key_id text not null check (length(encryption_key_id) <= 64),
      version integer not null default 1,
      created_at timestamptz not null default now(),
      created_by text not null check (length(created_by) <= 256),
      expires_at timestamptz,
      last_accessed_at timestamptz,
      access_count integer not null default 0,
      unique (machine_id, name)
    );
    create index machine_secrets_key on machine_secrets (encryption_key_id, secret_id);
  `);
