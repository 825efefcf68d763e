import type { Knex } from 'knex';

/** Updates with their leases, the state version each left behind, their journal and their engine events. */
export const up = (db: Knex) =>
  db.raw(`
    create table extension_iac_state_updates (
      id uuid primary key,
      stack_id uuid not null references extension_iac_state_stacks on delete cascade,
      kind text not null,
      dry_run boolean not null,
      status text not null,
      version integer,
      author text not null,
      cli_version text not null,
      message text not null,
      environment jsonb not null,
      config jsonb not null,
      token_hash bytea,
      journal_version integer not null default 0,
      checkpoint_sequence integer not null default 0,
      checkpoint_hash text,
      lease_expires_at timestamptz,
      created_at timestamptz not null default now(),
      started_at timestamptz,
      ended_at timestamptz,
      resource_changes jsonb,
      resource_count integer
    );
    create index extension_iac_state_updates_history on extension_iac_state_updates (stack_id, version desc);
    create index extension_iac_state_updates_created on extension_iac_state_updates (stack_id, created_at desc);

    create table extension_iac_state_versions (
      stack_id uuid not null references extension_iac_state_stacks on delete cascade,
      version integer not null,
      update_id uuid not null,
      state_id uuid references extension_iac_state_states,
      created_at timestamptz not null default now(),
      primary key (stack_id, version)
    );
    create index extension_iac_state_versions_state on extension_iac_state_versions (state_id);

    create table extension_iac_state_journal (
      update_id uuid not null references extension_iac_state_updates on delete cascade,
      sequence_id bigint not null,
      entry text not null,
      primary key (update_id, sequence_id)
    );

    create table extension_iac_state_events (
      update_id uuid not null references extension_iac_state_updates on delete cascade,
      sequence integer not null,
      event text not null,
      primary key (update_id, sequence)
    );
  `);
