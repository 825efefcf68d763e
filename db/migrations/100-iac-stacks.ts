import type { Knex } from 'knex';

/** Stacks, the names they had, their secrets keys (sealed by the service key), and their states in compressed pieces. */
export const up = (db: Knex) =>
  db.raw(`
    create table extension_iac_state_stacks (
      id uuid primary key,
      org text not null,
      project text not null,
      name text not null,
      tags jsonb not null default '{}',
      config jsonb,
      version integer not null default 0,
      state_id uuid,
      resource_count integer not null default 0,
      active_update uuid,
      created_at timestamptz not null default now(),
      last_update_at timestamptz,
      deleted_at timestamptz
    );
    create unique index extension_iac_state_stacks_name
      on extension_iac_state_stacks (org, project, name) where deleted_at is null;

    create table extension_iac_state_former_names (
      org text not null,
      project text not null,
      name text not null,
      stack_id uuid not null references extension_iac_state_stacks on delete cascade,
      primary key (org, project, name)
    );

    create table extension_iac_state_keys (
      stack_id uuid not null references extension_iac_state_stacks on delete cascade,
      version integer not null,
      master_key_id text not null,
      nonce bytea not null,
      tag bytea not null,
      ciphertext bytea not null,
      created_at timestamptz not null default now(),
      primary key (stack_id, version)
    );

    create table extension_iac_state_states (
      id uuid primary key,
      stack_id uuid not null references extension_iac_state_stacks on delete cascade,
      byte_size bigint not null,
      resource_count integer not null,
      created_at timestamptz not null default now()
    );
    create index extension_iac_state_states_stack on extension_iac_state_states (stack_id);

    create table extension_iac_state_pieces (
      state_id uuid not null references extension_iac_state_states on delete cascade,
      number integer not null,
      gzip bytea not null,
      primary key (state_id, number)
    );
    alter table extension_iac_state_pieces alter column gzip set storage external;
  `);
