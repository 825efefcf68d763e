import type { Knex } from 'knex';
import type { Migration } from './migration.js';
import { migrations } from './migrations/index.js';

/** Any number that no other user of the database takes for its own locks. */
const MIGRATION_LOCK = 7_301_001;

/**
 * Brings the schema up to date; whichever process comes first does it, the others wait for the lock.
 * Each migration and its row in `schema_migrations` are one transaction. Returns the names applied now.
 */
export const migrate = (db: Knex): Promise<readonly string[]> => applyAll(db, migrations);

/** The same up to and including one migration: the schema as it was then, for tests of what comes after. */
export const migrateUntil = (db: Knex, last: string): Promise<readonly string[]> =>
  applyAll(
    db,
    migrations.filter(({ name }) => name <= last),
  );

const applyAll = async (db: Knex, wanted: readonly Migration[]): Promise<readonly string[]> => {
  const applied: string[] = [];
  for (;;) {
    const name = await db.transaction((trx) => applyNext(trx, wanted));
    if (name === undefined) return applied;
    applied.push(name);
  }
};

const applyNext = async (
  trx: Knex.Transaction,
  wanted: readonly Migration[],
): Promise<string | undefined> => {
  await trx.raw('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
  await trx.raw(
    'create table if not exists schema_migrations (name text primary key, applied_at timestamptz not null default now())',
  );
  const done = await appliedNames(trx);
  const next = wanted.find((migration) => !done.has(migration.name));
  if (next === undefined) return undefined;
  await next.up(trx);
  await trx('schema_migrations').insert({ name: next.name });
  return next.name;
};

const appliedNames = async (db: Knex): Promise<ReadonlySet<string>> =>
  new Set(await db('schema_migrations').pluck<string[]>('name'));

/** Names of the migrations that this build knows and the database does not have. */
export const pendingMigrations = async (db: Knex): Promise<readonly string[]> => {
  const exists = await db.schema.hasTable('schema_migrations');
  const done = exists ? await appliedNames(db) : new Set<string>();
  return migrations.map((migration) => migration.name).filter((name) => !done.has(name));
};
