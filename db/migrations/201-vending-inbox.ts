import type { Knex } from 'knex';

/**
 * Everything that asks for a run, once. `key` is the digest of source and id. A row without a run waits for the relay;
 * how its run ended is read from the run.
 */
export const up = (db: Knex) =>
  db.raw(`
    create table vending_inbox (
      key text primary key,
      position bigint generated always as identity,
      source text not null,
      event_id text not null,
      subscription_key text not null,
      subscription_id text not null,
      subscription_name text not null,
      management_group_id text not null,
      trigger text not null,
      triggered_by text not null,
      received_at timestamptz not null default now(),
      run_id uuid references vending_runs (id)
    );
    create index vending_inbox_waiting on vending_inbox (position) where run_id is null;
    create index vending_inbox_run on vending_inbox (run_id);
  `);
