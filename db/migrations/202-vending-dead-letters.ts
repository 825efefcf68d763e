import type { Knex } from 'knex';

/** Jobs moved to the dead-letter queue; the row is locked while the message is sent, so one job is moved once. */
export const up = (db: Knex) =>
  db.raw(`
    create table vending_dead_letters (
      job_id text primary key,
      message_id text,
      created_at timestamptz not null default now()
    );
  `);
