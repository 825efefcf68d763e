import type { Knex } from 'knex';

/**
 * Server-side deployments. A row holds its place in the stack's queue until `released_at`: a cancelled run keeps it while its
 * CLI finishes. Environment and git credentials are sealed by the service key.
 */
export const up = (db: Knex) =>
  db.raw(`
    create table extension_iac_state_deployments (
      id uuid primary key,
      stack_id uuid not null references extension_iac_state_stacks on delete cascade,
      number integer not null,
      operation text not null,
      status text not null check (status in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
      source jsonb,
      pre_run_commands jsonb not null default '[]',
      requested_by text not null,
      initiator text not null,
      reason text,
      exit_code integer,
      token_hash bytea,
      master_key_id text not null,
      nonce bytea not null,
      tag bytea not null,
      ciphertext bytea not null,
      created_at timestamptz not null default now(),
      started_at timestamptz,
      completed_at timestamptz,
      released_at timestamptz,
      unique (stack_id, number)
    );
    create unique index extension_iac_state_deployments_running
      on extension_iac_state_deployments (stack_id) where started_at is not null and released_at is null;
    create index extension_iac_state_deployments_waiting
      on extension_iac_state_deployments (stack_id, number) where released_at is null;
    create unique index extension_iac_state_deployments_token
      on extension_iac_state_deployments (token_hash) where token_hash is not null;

    create table extension_iac_state_deployment_logs (
      deployment_id uuid not null references extension_iac_state_deployments on delete cascade,
      number integer not null,
      created_at timestamptz not null default now(),
      text text not null,
      primary key (deployment_id, number)
    );

    create table extension_iac_state_deployment_updates (
      update_id uuid primary key references extension_iac_state_updates on delete cascade,
      deployment_id uuid not null references extension_iac_state_deployments on delete cascade
    );
    create index extension_iac_state_deployment_updates_of
      on extension_iac_state_deployment_updates (deployment_id);
  `);
