import type { Knex } from 'knex';
import { prepared } from '../connect.js';

export interface MetricTotal {
  readonly labels: readonly string[];
  readonly value: number;
}

/** Raises a counter in the caller's transaction; `labels` are the values, in the metric's order. */
export const addToTotal = async (
  trx: Knex,
  metric: string,
  labels: readonly string[],
  by = 1,
): Promise<void> => {
  await prepared(
    trx,
    'add-to-total',
    `insert into metric_totals (metric, labels, value) values (?, ?, ?)
     on conflict (metric, labels) do update set value = metric_totals.value + excluded.value`,
    [metric, [...labels], by],
  );
};

export const readTotals = (db: Knex, metric: string): Promise<readonly MetricTotal[]> =>
  prepared<MetricTotal>(db, 'read-totals', 'select labels, value from metric_totals where metric = ?', [
    metric,
  ]);
