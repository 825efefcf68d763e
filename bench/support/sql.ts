import pg from 'pg';
import type { Latencies } from './drive.js';
import { summarise } from './drive.js';

export interface SqlOptions {
  readonly url: string;
  readonly name: string;
  readonly text: string;
  /** Bindings of the n-th call. */
  readonly values?: (n: number) => readonly unknown[];
  readonly connections?: number;
  readonly seconds?: number;
}

/** The bare statement that a request needs, over as many connections: what the database alone can do. */
export const driveSql = async (options: SqlOptions): Promise<Latencies> => {
  const clients = await Promise.all(
    Array.from({ length: options.connections ?? 16 }, async () => {
      const client = new pg.Client({ connectionString: options.url });
      await client.connect();
      return client;
    }),
  );
  const milliseconds: number[] = [];
  const started = performance.now();
  const until = started + (options.seconds ?? 3) * 1000;
  let n = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < until) {
        const before = performance.now();
        const values = options.values?.(n++) ?? [];
        await client.query({ name: options.name, text: options.text, values: [...values] });
        milliseconds.push(performance.now() - before);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(clients.map((client) => client.end()));
  return summarise(milliseconds, seconds);
};

/** Counts the statements that others run in a database while `work` runs; transaction control is not counted. */
export const countStatements = async <T>(
  url: string,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly statements: number }> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('create extension if not exists pg_stat_statements');
    const before = await statementCount(client);
    const result = await work();
    const statements = (await statementCount(client)) - before;
    if (process.env['BENCH_STATEMENTS']) console.error(await busiest(client));
    return { result, statements };
  } finally {
    await client.end();
  }
};

/** What BENCH_STATEMENTS=1 shows: the statements that ran most often. */
const busiest = async (client: pg.Client): Promise<string> => {
  const { rows } = await client.query<{ calls: string; ms: string; query: string }>(
    `select calls, round(mean_exec_time::numeric, 3) as ms, left(regexp_replace(query, '\\s+', ' ', 'g'), 120) as query
     from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())
     order by calls desc limit 6`,
  );
  return rows.map(({ calls, ms, query }) => `  ${calls} x ${ms} ms  ${query}`).join('\n');
};

const statementCount = async (client: pg.Client): Promise<number> => {
  const { rows } = await client.query<{ calls: string }>(
    `select coalesce(sum(calls), 0) as calls from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())
       and query !~* '^\\s*(begin|commit|rollback|savepoint|release|listen|set )'
       and query not like '%pg_stat_statements%'`,
  );
  return Number(rows[0]?.calls ?? 0);
};
