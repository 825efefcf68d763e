import type { Knex } from 'knex';

/** Counters that several processes raise in the transactions they count, and every gateway reads at a scrape. */
export const up = (db: Knex) =>
  db.raw(`
    create table metric_totals (
      metric text not null,
      labels text[] not null,
      value bigint not null default 0,
      primary key (metric, labels)
    ) with (fillfactor = 50);
  `);
