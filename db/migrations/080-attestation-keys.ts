import type { Knex } from 'knex';

/** What machines have proved by their TPM, and how far an activation has come. */
export const up = (db: Knex) =>
  db.raw(`
    alter table machines add column ek_public bytea;
    alter table machines add column ek_root text;

    create table attestation_keys (
      machine_id uuid primary key references machines on delete cascade,
      ak_public bytea not null,
      ak_name bytea not null,
      ak_pub text not null,
      activated_at timestamptz not null default now(),
      qualified_signer bytea,
      quoted_at timestamptz,
      clock_ms numeric(20),
      reset_count bigint,
      restart_count bigint,
      safe boolean,
      firmware_version text,
      last_reset_at timestamptz,
      counters_fell_at timestamptz,
      policy_failures integer not null default 0,
      policy_broken_at timestamptz,
      policy_breach text
    );

    create unlogged table ak_activations (
      activation_id uuid primary key,
      machine_id uuid not null,
      ak_public bytea not null,
      secret_sha256 bytea not null,
      expires_at timestamptz not null
    );
    create index ak_activations_machine on ak_activations (machine_id, expires_at);
    create index ak_activations_expires on ak_activations (expires_at);
  `);
