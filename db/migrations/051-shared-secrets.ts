import type { Knex } from 'knex';

export const up = (db: Knex) =>
  db.raw(`
    create table shared_secrets (
      shared_secret_id uuid primary key,
      name text not null unique check (length(name) between 1 and 128),
      encrypted_value bytea not null,
      nonce bytea not null check (length(nonce) = 12),
      tag bytea not null check (length(tag) = 16),
      encryption_key_id text not null check (length(encryption_key_id) <= 64),
      version integer not null default 1,
      created_at timestamptz not null default now(),
      created_by text not null check (length(created_by) <= 256),
      last_rotated_at timestamptz,
      expires_at timestamptz,
      description text check (length(description) <= 512),
      last_accessed_at timestamptz,
      access_count integer not null default 0
    );
    create index shared_secrets_key on shared_secrets (encryption_key_id, shared_secret_id);

    create table shared_secret_grants (
      shared_secret_id uuid not null references shared_secrets on delete cascade,
      machine_id uuid not null references machines on delete cascade,
      granted_at timestamptz not null default now(),
      granted_by text not null check (length(granted_by) <= 256),
      last_accessed_at timestamptz,
      access_count integer not null default 0,
      primary key (shared_secret_id, machine_id)
    );
    create index shared_secret_grants_machine on shared_secret_grants (machine_id);
  `);
