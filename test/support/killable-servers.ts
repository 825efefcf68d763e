import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../scripts/stack/ports.js';
import { answersOk } from '../../scripts/stack/wait.js';
import { startEmbeddedPostgres } from '../../scripts/tools/embedded-postgres.mjs';
import { ensureTemporalCli } from '../../scripts/tools/temporal-cli.mjs';
import { eventually } from './eventually.js';
import { devServerTuning } from '../../scripts/stack/temporal.js';

/** A server that can be killed and started again on the same port with the same data. */
export interface KillableServer {
  readonly address: string;
  /** Ends it at once, as a crash would, and waits until it is gone. */
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** PostgreSQL of the test's own; a kill is SIGKILL to the postmaster, the next start recovers from the log. */
export const killablePostgres = async (): Promise<KillableServer> => {
  const dir = mkdtempSync(join(tmpdir(), 'keystead-pg-'));
  chmodSync(dir, 0o755);
  const options = {
    dataDir: join(dir, 'data'),
    port: await freePort(0),
    settings: { max_connections: 200 },
    ownGroup: true,
  };
  let server = await startEmbeddedPostgres(options);
  return {
    address: server.url,
    kill: async () => {
      const gone = once(server.process, 'exit');
      server.process.kill('SIGKILL');
      await gone;
    },
    start: async () => {
      // Backends hold the data folder until they notice that their postmaster is gone.
      server = await eventually(() => startEmbeddedPostgres(options), 60_000);
    },
    stop: async () => {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
};

/** A Temporal server that keeps its histories in a file. */
export const killableTemporal = async (): Promise<KillableServer> => {
  const dir = mkdtempSync(join(tmpdir(), 'keystead-temporal-'));
  const [port, httpPort] = [await freePort(0), await freePort(0)];
  const address = `127.0.0.1:${port}`;
  const program = await ensureTemporalCli();
  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = spawn(
      program,
      [
        ...['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)],
        ...[
          '--http-port',
          String(httpPort),
          '--db-filename',
          join(dir, 'temporal.db'),
          '--log-level',
          'error',
        ],
        ...devServerTuning,
      ],
      { stdio: 'ignore' },
    );
    await eventually(() => answersOk(`http://127.0.0.1:${httpPort}/api/v1/namespaces/default`), 60_000);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  };
  await start();
  return {
    address,
    start,
    kill: () => end('SIGKILL'),
    stop: async () => {
      await end('SIGTERM');
      rmSync(dir, { recursive: true, force: true });
    },
  };
};
