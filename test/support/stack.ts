import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '../..');

export interface RunningStack {
  readonly brokerUrl: string;
  readonly vendingUrl: string;
  /** What it printed so far. */
  readonly output: () => string;
  /** An access token as `npm run -s token -- NAME` prints it. */
  readonly token: (name: string) => Promise<string>;
  readonly stop: () => Promise<number | null>;
}

const freePorts = async (names: readonly string[]): Promise<Record<string, string>> => {
  const servers = await Promise.all(
    names.map(async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => String((server.address() as AddressInfo).port));
  await Promise.all(servers.map((server) => promisify(server.close.bind(server))()));
  return Object.fromEntries(names.map((name, index) => [name, ports[index] ?? '']));
};

/** `npm start` as a newcomer runs it, on free ports and with data of its own. */
export const startStack = async (settings: Readonly<Record<string, string>> = {}): Promise<RunningStack> => {
  const dataDir = await mkdtemp(join(tmpdir(), 'keystead-stack-'));
  const ports = await freePorts(['SVC_PORT', 'VENDING_PORT', 'TEMPORAL_UI_PORT', 'TEMPORAL_PORT', 'PGPORT']);
  const embedded = { DATABASE_URL: '', TEMPORAL_ADDRESS: '' };
  const env = { ...process.env, ...embedded, ...ports, ...settings, STACK_DATA_DIR: dataDir };
  const child = spawn(process.execPath, ['scripts/start.mjs'], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const running = new Promise<void>((ready, fail) => {
    const hear = (chunk: Buffer): void => {
      output += chunk.toString();
      if (output.includes('Keystead is running.')) ready();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', (code) => {
      fail(new Error(`npm start ended with ${String(code)}:\n${output}`));
    });
  });
  await running;
  return {
    brokerUrl: `http://127.0.0.1:${ports['SVC_PORT'] ?? ''}`,
    vendingUrl: `http://127.0.0.1:${ports['VENDING_PORT'] ?? ''}`,
    output: () => output,
    token: async (name) => {
      const args = ['scripts/run.mjs', 'scripts/stack/token', name];
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env });
      return stdout.trim();
    },
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGINT');
      const [code] = (await ended) as [number | null];
      await rm(dataDir, { recursive: true, force: true });
      return code;
    },
  };
};
