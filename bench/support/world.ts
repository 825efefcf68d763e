import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Knex } from 'knex';
import { connectDatabase } from '../../db/connect.js';
import { migrate } from '../../db/migrate.js';
import { ensureDatabase } from '../../scripts/stack/database.js';
import { freePort } from '../../scripts/stack/ports.js';
import { startTemporal } from '../../scripts/stack/temporal.js';
import { startEmbeddedPostgres } from '../../scripts/tools/embedded-postgres.mjs';
import type { DriveOptions } from './drive.js';
import { drive } from './drive.js';
import type { ProcessOptions, RunningProcess } from './processes.js';
import { startProcess } from './processes.js';
import type { Measurement } from './report.js';
import { countStatements } from './sql.js';

export interface BenchDatabase {
  readonly url: string;
  readonly db: Knex;
}

/** What a case may use; all of it is stopped and removed when the run ends. */
export interface BenchWorld {
  /** An empty folder. */
  readonly folder: () => string;
  readonly port: () => Promise<number>;
  /** A migrated database of the case's own. */
  readonly database: (name: string) => Promise<BenchDatabase>;
  /** Address of a Temporal dev server, started at the first call. */
  readonly temporal: () => Promise<string>;
  /** Starts a program of dist/, e.g. `api/broker/main.js`. */
  readonly start: (entry: string, options: Omit<ProcessOptions, 'entry'>) => Promise<RunningProcess>;
  /** Drives one address; with `process` its CPU per request, with `database` its statements per request. */
  readonly drive: (
    name: string,
    options: DriveOptions & { readonly process?: RunningProcess; readonly database?: BenchDatabase },
  ) => Promise<Measurement>;
}

const dist = fileURLToPath(new URL('../../', import.meta.url));
const postgresSettings = {
  max_connections: 300,
  shared_buffers: '256MB',
  shared_preload_libraries: 'pg_stat_statements',
};

export const openWorld = async (): Promise<{ world: BenchWorld; close: () => Promise<void> }> => {
  const root = mkdtempSync(join(tmpdir(), 'keystead-bench-'));
  chmodSync(root, 0o755);
  const stops: (() => Promise<unknown>)[] = [];
  const server = await startEmbeddedPostgres({
    dataDir: join(root, 'postgres'),
    port: await freePort(0),
    settings: postgresSettings,
    ownGroup: true,
  });
  stops.push(server.stop);
  let temporal: Promise<string> | undefined;
  const startServer = async (): Promise<string> => {
    const [port, uiPort] = [await freePort(0), await freePort(0)];
    const file = join(root, 'temporal.db');
    const part = await startTemporal({ port, uiPort, namespace: 'default', file }, () => undefined);
    stops.push(part.stop);
    return `127.0.0.1:${port}`;
  };
  const world: BenchWorld = {
    folder: () => mkdtempSync(join(root, 'folder-')),
    port: () => freePort(0),
    database: async (name) => {
      const url = await ensureDatabase(server.url, `${name}_${randomBytes(3).toString('hex')}`);
      const db = connectDatabase({ DATABASE_URL: url, DATABASE_POOL_MAX: 4 }, 'bench');
      stops.push(() => db.destroy());
      await migrate(db);
      return { url, db };
    },
    temporal: () => (temporal ??= startServer()),
    start: async (entry, options) => {
      const profiles = process.env['BENCH_CPU_PROF'];
      const nodeArgs = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
      const child = await startProcess({ entry: join(dist, entry), nodeArgs, ...options });
      stops.push(child.stop);
      return child;
    },
    drive: measure,
  };
  const close = async (): Promise<void> => {
    for (const stop of stops.reverse()) await stop().catch((error: unknown) => console.error(error));
    rmSync(root, { recursive: true, force: true });
  };
  return { world, close };
};

const measure: BenchWorld['drive'] = async (name, { process: target, database, ...options }) => {
  const connections = options.connections ?? 16;
  if (database === undefined) return { name, connections, ...(await drive(options, target)) };
  await drive({ ...options, seconds: 1, warmUpSeconds: 0, ...(options.amount ? { amount: 50 } : {}) });
  const { result, statements } = await countStatements(database.url, () =>
    drive({ ...options, warmUpSeconds: 0 }, target),
  );
  return { name, connections, ...result, queriesPerRequest: statements / Math.max(1, result.requests) };
};
