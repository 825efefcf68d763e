import type { Knex } from 'knex';

export const up = (db: Knex) =>
  db.raw(`
    create table pcr_policies (
      role text primary key,
      bank text not null check (bank in ('sha256', 'sha384', 'sha512')),
      pcrs jsonb not null,
      mode text not null check (mode in ('enforce', 'warn')),
      updated_at timestamptz not null default now(),
      updated_by text not null
    );
  `);
