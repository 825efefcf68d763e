import type { Knex } from 'knex';

/** One row a provisioning run, and one a step of it: the truth that operators see. */
export const up = (db: Knex) =>
  db.raw(`
    create table vending_runs (
      id uuid primary key default gen_random_uuid(),
      subscription_key text not null,
      subscription_id text not null,
      subscription_name text not null,
      management_group_id text not null,
      trigger text not null check (trigger in ('event', 'replay', 'job', 'test')),
      triggered_by text not null,
      event_id text not null,
      status text not null default 'pending' check (status in ('pending', 'running', 'succeeded', 'failed')),
      plan jsonb,
      management_group text not null default '',
      initiative_id text not null default '',
      rbac_roles jsonb not null default '[]',
      errors jsonb not null default '[]',
      log jsonb not null default '[]',
      gate_passed boolean,
      workflow_id text not null,
      temporal_run_id text not null default '',
      created_at timestamptz not null default now(),
      started_at timestamptz,
      ended_at timestamptz,
      dispatch_at timestamptz not null default now(),
      checked_at timestamptz not null default now()
    );
    create unique index vending_runs_one_active on vending_runs (subscription_key)
      where status in ('pending', 'running');
    create index vending_runs_recent on vending_runs (created_at desc, id desc);
    create index vending_runs_of_subscription on vending_runs (subscription_key, created_at desc);
    create index vending_runs_dispatch on vending_runs (dispatch_at) where status = 'pending';
    create index vending_runs_check on vending_runs (checked_at) where status = 'running';

    create table vending_run_steps (
      run_id uuid not null references vending_runs (id) on delete cascade,
      name text not null,
      position integer not null,
      status text not null default 'pending'
        check (status in ('pending', 'running', 'done', 'skipped', 'failed', 'blocked')),
      attempts integer not null default 0,
      started_at timestamptz,
      ended_at timestamptz,
      summary text not null default '',
      error text not null default '',
      primary key (run_id, name)
    );

    create table vending_lifecycle (
      run_id uuid not null references vending_runs (id) on delete cascade,
      event text not null check (event in ('STARTED', 'COMPLETED', 'SUCCEEDED', 'FAILED')),
      at timestamptz not null default now(),
      primary key (run_id, event)
    );
  `);
