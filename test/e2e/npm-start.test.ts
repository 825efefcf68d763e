import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../../scripts/stack/ports.js';

const root = resolve(import.meta.dirname, '../..');
const LIMIT_MS = 300_000;
const portNames = ['PGPORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT', 'SVC_PORT', 'VENDING_PORT'];
const moreNames = ['STACK_OIDC_PORT', 'STACK_FACTORY_PORT', 'STACK_CLOUD_PORT'];

interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
}

const start = (env: NodeJS.ProcessEnv): Running => {
  const child = spawn(process.execPath, ['scripts/start.mjs'], { cwd: root, env, stdio: 'pipe' });
  let text = '';
  const keep = (chunk: Buffer) => (text += chunk.toString());
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  return { child, output: () => text };
};

const untilRunning = async ({ child, output }: Running): Promise<void> => {
  while (!output().includes('Started in')) {
    if (child.exitCode !== null) throw new Error(`npm start ended:\n${output()}`);
    await delay(100);
  }
};

const stop = async ({ child }: Running): Promise<number | null> => {
  const exited = once(child, 'exit') as Promise<[number | null]>;
  child.kill('SIGTERM');
  return (await exited)[0];
};

const adminToken = (output: string): string | undefined => /admin token\s+(\S+)/.exec(output)?.[1];

describe('npm start', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keystead-start-'));
    await chmod(folder, 0o755);
    env = { ...process.env, STACK_DATA_DIR: join(folder, 'data'), NODE_OPTIONS: '' };
    for (const name of [...portNames, ...moreNames]) env[name] = String(await freePort(0));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it(
    'runs everything, stops everything, and remembers',
    async () => {
      const first = start(env);
      await untilRunning(first);
      const broker = `http://127.0.0.1:${env['SVC_PORT']!}`;
      const token = spawnSync(process.execPath, ['scripts/run.mjs', 'scripts/stack/token', 'ben'], {
        cwd: root,
        env,
        encoding: 'utf8',
      }).stdout.trim();
      const answer = await fetch(`${broker}/api/v1/machines`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect([answer.status, await answer.json()]).toEqual([200, []]);
      expect((await fetch(`http://127.0.0.1:${env['VENDING_PORT']!}/health`)).status).toBe(200);
      expect((await fetch(`http://127.0.0.1:${env['TEMPORAL_UI_PORT']!}/`)).status).toBe(200);
      expect(await stop(first)).toBe(0);
      await expect(fetch(`${broker}/healthz`)).rejects.toThrow('fetch failed');

      const second = start(env);
      await untilRunning(second);
      expect(adminToken(second.output())).toBe(adminToken(first.output()));
      expect(adminToken(second.output())).toMatch(/^admin-/);
      expect(await stop(second)).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    'names the variable of a port in use and starts nothing',
    async () => {
      const holder = createServer().listen(0, '127.0.0.1');
      await once(holder, 'listening');
      const taken = String((holder.address() as AddressInfo).port);
      const refused = start({ ...env, SVC_PORT: taken });
      await once(refused.child, 'exit');
      holder.close();
      expect(refused.child.exitCode).toBe(1);
      expect(refused.output()).toContain(`port ${taken} is in use: set SVC_PORT to a free one`);
    },
    LIMIT_MS,
  );
});
