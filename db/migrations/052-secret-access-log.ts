import type { Knex } from 'knex';

/** Outlives the secrets and machines that it names, hence no foreign keys. */
export const up = (db: Knex) =>
  db.raw(`
    create table secret_access_log (
      id bigint generated always as identity primary key,
      at timestamptz not null default now(),
      kind text not null check (kind in ('machine', 'shared')),
      action text not null check (action in ('read', 'grant', 'grant_revoke', 'delete')),
      secret_id uuid not null,
      machine_id uuid,
      actor text not null,
      source_address text
    );
    create index secret_access_log_secret on secret_access_log (secret_id, id);
    create index secret_access_log_at on secret_access_log (at);
  `);
