import type { Knex } from 'knex';

/** Signing secrets are sealed; during a rotation an endpoint has two. */
export const up = (db: Knex) =>
  db.raw(`
    create table webhooks (
      webhook_id uuid primary key,
      url text not null check (length(url) <= 512),
      events text not null,
      enabled boolean not null default true,
      disabled_reason text,
      rate_limit_per_minute integer not null default 0,
      next_slot_at timestamptz not null default now(),
      last_test_at timestamptz,
      failing_since timestamptz,
      last_failure_at timestamptz,
      created_by text not null check (length(created_by) <= 256),
      created_at timestamptz not null default now(),
      last_triggered_at timestamptz,
      trigger_count integer not null default 0,
      failure_count integer not null default 0
    );
    create table webhook_secrets (
      webhook_secret_id uuid primary key,
      webhook_id uuid not null references webhooks on delete cascade,
      encrypted_value bytea not null,
      nonce bytea not null check (length(nonce) = 12),
      tag bytea not null check (length(tag) = 16),
      encryption_key_id text not null check (length(encryption_key_id) <= 64),
      created_at timestamptz not null default clock_timestamp(),
      retires_at timestamptz
    );
    create index webhook_secrets_webhook on webhook_secrets (webhook_id, created_at);
    create index webhook_secrets_key on webhook_secrets (encryption_key_id, webhook_secret_id);
  `);
