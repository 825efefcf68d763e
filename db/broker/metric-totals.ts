import type { Knex } from 'knex';
import { prepared } from '../connect.js';

export interface MetricTotal {
  readonly labels: readonly string[];
  readonly value: number;
}

export const readTotals = (db: Knex, metric: string): Promise<readonly MetricTotal[]> =>
  prepared<MetricTotal>(db, 'read-totals', 'select labels, value from metric_totals where metric = ?', [
    metric,
  ]);
