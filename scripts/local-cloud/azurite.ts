import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ACCOUNT = 'vending';
const READY_MS = 30_000;

export interface Azurite {
  readonly connectionString: string;
  readonly pid: number;
  /** Rejects when it ends without having been told to. */
  readonly failed: Promise<never>;
  readonly stop: () => Promise<void>;
}

/** The storage emulator's queue service, with an account key of this folder's own. */
export const startAzurite = async (options: {
  readonly dir: string;
  readonly port: number;
}): Promise<Azurite> => {
  const { dir, port } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const key = accountKey(join(dir, 'account-key'));
  const program = join(
    dirname(createRequire(import.meta.url).resolve('azurite/package.json')),
    'dist/src/queue/main.js',
  );
  const child = spawn(
    process.execPath,
    [
      program,
      '--queueHost',
      '127.0.0.1',
      '--queuePort',
      String(port),
      '--location',
      dir,
      '--silent',
      '--skipApiVersionCheck',
      '--disableTelemetry',
    ],
    {
      env: { PATH: process.env['PATH'], HOME: dir, AZURITE_ACCOUNTS: `${ACCOUNT}:${key}` },
      stdio: 'ignore',
      detached: true,
    },
  );
  const killNow = () => child.kill('SIGKILL');
  process.once('exit', killNow);
  const state = { stopping: false };
  const ended = once(child, 'exit').finally(() => process.off('exit', killNow));
  const failed = ended.then(() =>
    state.stopping
      ? new Promise<never>(() => undefined)
      : Promise.reject(new Error('Azurite stopped by itself')),
  );
  failed.catch(() => undefined);
  await Promise.race([failed, accepting(port)]);
  return {
    connectionString: `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};AccountKey=${key};QueueEndpoint=http://127.0.0.1:${port}/${ACCOUNT};`,
    pid: child.pid ?? 0,
    failed,
    stop: async () => {
      state.stopping = true;
      child.kill('SIGTERM');
      const force = setTimeout(killNow, 5_000);
      await ended.catch(() => undefined);
      clearTimeout(force);
    },
  };
};

const accountKey = (file: string): string => {
  if (!existsSync(file)) writeFileSync(file, randomBytes(64).toString('base64'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
};

const accepting = async (port: number): Promise<void> => {
  const until = Date.now() + READY_MS;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const up = await Promise.race([
      once(socket, 'connect').then(
        () => true,
        () => false,
      ),
      sleep(1_000, false),
    ]);
    socket.destroy();
    if (up) return;
    if (Date.now() > until) throw new Error(`Azurite does not answer on port ${port}`);
    await sleep(100);
  }
};
