import type { Knex } from 'knex';

/** Every certificate that the enrollment CA has signed; a row is there before its certificate is given out. */
export const up = (db: Knex) =>
  db.raw(`
    create table certificates (
      serial text primary key,
      kind text not null check (kind in ('machine', 'operator')),
      machine_id uuid references machines on delete cascade,
      common_name text not null,
      not_after timestamptz not null,
      issued_at timestamptz not null default now(),
      issued_by text not null,
      revoked_at timestamptz,
      check ((kind = 'machine') = (machine_id is not null))
    );
    create index certificates_machine on certificates (machine_id, not_after);
    create index certificates_revoked on certificates (not_after) where revoked_at is not null;
  `);
