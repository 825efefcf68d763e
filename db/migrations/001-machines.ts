import type { Knex } from 'knex';

export const up = (db: Knex) =>
  db.raw(`
    create table machines (
      machine_id uuid primary key,
      ek_fingerprint text not null,
      ek_source text not null check (ek_source in ('cert', 'pub')),
      ek_cert_pem text,
      hw_uuid text not null default 'unknown',
      hw_mac text not null default 'unknown',
      hw_serial text not null default 'unknown',
      hw_product text not null default 'unknown',
      role text not null,
      status text not null check (status in
        ('pending_approval', 'registered', 'attested', 'locked', 'revoked', 'rejected')),
      previous_status text,
      hostname text,
      assigned_ip text,
      iso_url text,
      config_token_sha256 text,
      wipe_pending boolean not null default false,
      wipe_told_at timestamptz,
      wipe_completed_at timestamptz,
      wipe_overdue_at timestamptz,
      vote_role text,
      vote_expires_at timestamptz,
      registered_at timestamptz not null default now(),
      attested_at timestamptz,
      locked_at timestamptz,
      revoked_at timestamptz
    );
    create unique index machines_ek_fingerprint on machines (ek_fingerprint);
    create index machines_hw_mac on machines (hw_mac);
    create index machines_status on machines (status, registered_at);
  `);
