import type { Knex } from 'knex';
import knexModule from 'knex';
import pg from 'pg';
import type { DatabaseConfig } from '../domain/config/database.js';

const TIMESTAMPTZ: number = pg.types.builtins.TIMESTAMPTZ;
const INT8: number = pg.types.builtins.INT8;

/** `2026-01-31 12:00:00.123456+00` -> `2026-01-31T12:00:00.123456+00:00`; sessions run in UTC. */
const isoTimestamp = (text: string): string =>
  `${text.replace(' ', 'T')}${text.endsWith('+00') ? ':00' : ''}`;

const types: pg.CustomTypesConfig = {
  getTypeParser: ((
    oid: Parameters<typeof pg.types.getTypeParser>[0],
    format: 'text' | 'binary' = 'text',
  ): unknown => {
    const id: number = oid;
    if (id === TIMESTAMPTZ && format === 'text') return isoTimestamp;
    if (id === INT8 && format === 'text') return Number;
    return pg.types.getTypeParser(oid, format);
  }) as pg.CustomTypesConfig['getTypeParser'],
};

/** knex would write to the console what it throws as well. */
const silent = {
  warn: () => undefined,
  error: () => undefined,
  deprecate: () => undefined,
  debug: () => undefined,
};

/** A pool whose timestamps are ISO 8601 text in UTC and whose bigints are numbers. */
export const connectDatabase = (config: DatabaseConfig, applicationName: string): Knex =>
  knexModule.knex({
    client: 'pg',
    connection: {
      connectionString: config.DATABASE_URL,
      application_name: applicationName,
      options: '-c timezone=UTC',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      types,
    } as Knex.PgConnectionConfig,
    pool: { min: 0, max: config.DATABASE_POOL_MAX },
    acquireConnectionTimeout: 5_000,
    log: silent,
  });

/** Runs `sql` (bindings as `?`) as a prepared statement of that name: parsed once a connection. */
export const prepared = async <Row>(
  db: Knex,
  name: string,
  sql: string,
  bindings: readonly Knex.RawBinding[],
): Promise<readonly Row[]> => {
  const result = (await db.raw(sql, bindings).options({ name })) as { rows: Row[] };
  return result.rows;
};
