import type { Knex } from 'knex';

/** What a committed change still owes: events to publish, workflows to start or to signal. */
export const up = (db: Knex) =>
  db.raw(`
    create table outbox (
      id bigint generated always as identity primary key,
      topic text not null,
      key text not null,
      payload jsonb not null,
      created_at timestamptz not null default now(),
      available_at timestamptz not null default now(),
      attempts integer not null default 0,
      last_error text
    );
    create index outbox_available on outbox (available_at, id);

    create function outbox_wake() returns trigger language plpgsql as $$
    begin
      notify outbox;
      return null;
    end $$;
    create trigger outbox_wake after insert on outbox for each statement execute function outbox_wake();
  `);
