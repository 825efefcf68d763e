import { createHash, randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import pg from 'pg';
import { connectDatabase } from '../../db/connect.js';
import { migrate } from '../../db/migrate.js';
import { migrations } from '../../db/migrations/index.js';

const TEMPLATE_LOCK = 7_301_900;

const serverUrl = (): string => {
  const url = process.env['TEST_DATABASE_URL'];
  if (url === undefined) throw new Error('TEST_DATABASE_URL is not set: run the tests by npm test');
  return url;
};

const urlOf = (database: string): string => {
  const url = new URL(serverUrl());
  url.pathname = `/${database}`;
  return url.toString();
};

const onServer = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

/** Named by the migrations' text, so that a changed migration makes a new template. */
const templateName = (): string => {
  const text = migrations.map((m) => `${m.name}:${m.up.toString()}`).join('\n');
  return `keystead_template_${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
};

const ensureTemplate = (): Promise<string> =>
  onServer(async (client) => {
    const name = templateName();
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) {
      await client.query(`create database ${name}_building`);
      const db = connectDatabase(
        { DATABASE_URL: urlOf(`${name}_building`), DATABASE_POOL_MAX: 2 },
        'template',
      );
      await migrate(db);
      await db.destroy();
      await client.query(`alter database ${name}_building rename to ${name}`);
    }
    return name;
  });

export interface TestDatabase {
  readonly url: string;
  readonly db: Knex;
  readonly drop: () => Promise<void>;
}

/** A database of the suite's own: a copy of the migrated template, or an empty one. */
export const testDatabase = async ({ empty = false, poolMax = 20 } = {}): Promise<TestDatabase> => {
  const name = `keystead_test_${randomBytes(6).toString('hex')}`;
  const template = empty ? 'template1' : await ensureTemplate();
  await onServer(async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    await client.query(`create database ${name} template ${template}`);
  });
  const db = connectDatabase({ DATABASE_URL: urlOf(name), DATABASE_POOL_MAX: poolMax }, 'test');
  return {
    url: urlOf(name),
    db,
    drop: async () => {
      await db.destroy();
      await onServer((client) => client.query(`drop database if exists ${name} with (force)`));
    },
  };
};
