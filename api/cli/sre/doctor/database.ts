import type { Knex } from 'knex';
import { databaseSettings } from '../../../../domain/config/database.js';
import { parseSettings } from '../../../../domain/config/env.js';
import type { SreDeps } from '../context.js';
import type { Finding } from './finding.js';
import { fail, messageOf, ok, warn } from './finding.js';

const MAX_SKEW_MS = 2_000;
const MAX_LAG_SECONDS = 60;

/** Reachable, schema current, clock, and what the outbox still owes. */
export const checkDatabase = async (deps: SreDeps): Promise<readonly Finding[]> => {
  let db: Knex;
  try {
    db = deps.database.connect(parseSettings(databaseSettings, deps.env, { readFile: deps.readFile }));
  } catch {
    return [fail('database', 'no usable DATABASE_URL', 'set DATABASE_URL')];
  }
  try {
    const findings = [await checkReachable(db, deps)];
    const migrations = await checkMigrations(db, deps);
    findings.push(migrations);
    if (migrations.level === 'ok') findings.push(await checkOutbox(db, deps));
    return findings;
  } catch (error) {
    return [fail('database', messageOf(error), 'is it running, and do address and password fit?')];
  } finally {
    await db.destroy();
  }
};

const checkReachable = async (db: Knex, deps: SreDeps): Promise<Finding> => {
  const before = deps.now();
  const { rows } = await db.raw<{ rows: { version: string; ms: string }[] }>(
    `select current_setting('server_version') as version, extract(epoch from clock_timestamp()) * 1000 as ms`,
  );
  const skew = Number(rows[0]?.ms ?? 0) - (before + deps.now()) / 2;
  const detail = `PostgreSQL ${rows[0]?.version ?? '?'}, clock differs by ${Math.round(skew)} ms`;
  return Math.abs(skew) <= MAX_SKEW_MS
    ? ok('database', detail)
    : warn('database', detail, 'synchronise the clocks (NTP): nonces and windows are timed here and there');
};

const checkMigrations = async (db: Knex, deps: SreDeps): Promise<Finding> => {
  const pending = await deps.database.pendingMigrations(db);
  return pending.length === 0
    ? ok('migrations', 'current')
    : fail(
        'migrations',
        `${pending.length} not applied, first ${pending[0] ?? ''}`,
        'start a gateway or worker of this version: it applies them',
      );
};

const checkOutbox = async (db: Knex, deps: SreDeps): Promise<Finding> => {
  const { waiting, oldestSeconds } = await deps.database.outboxLag(db);
  const detail = `${waiting} waiting, oldest ${Math.round(oldestSeconds)} s`;
  return oldestSeconds <= MAX_LAG_SECONDS
    ? ok('outbox', detail)
    : warn('outbox', detail, 'is a worker running? `select topic, last_error from outbox` names the reason');
};
