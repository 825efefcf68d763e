import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packageRoot } from '../../scripts/tools/paths.mjs';
import { softwareEk } from '../support/ek.js';
import { eventuallyHolds } from '../support/eventually.js';
import { httpClient } from '../support/http.js';
import type { TestDatabase } from '../support/postgres.js';
import { testDatabase } from '../support/postgres.js';
import { buildOnce, roleConfigFolder, startGateway } from '../support/processes.js';
import { temporalServer } from '../support/temporal.js';

const ADMIN_TOKEN = 'process-test-admin-token';

describe('the broker gateway as a process', () => {
  let database: TestDatabase;
  let temporal: Awaited<ReturnType<typeof temporalServer>>;
  let env: Record<string, string>;
  const configs = roleConfigFolder();

  beforeAll(async () => {
    await buildOnce();
    [database, temporal] = await Promise.all([testDatabase(), temporalServer()]);
    env = {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporal.address,
      SVC_ADMIN_TOKEN: ADMIN_TOKEN,
      SVC_IAC_ENABLED: 'false',
      SVC_ISO_URL: 'https://images.test/node.iso',
      SVC_CONFIG_CACHE_DIR: configs.path,
      SVC_ENROLLMENT_CA_DIR: join(configs.path, 'ca'),
      SVC_SHARED_SECRET_MASTER_KEY: randomBytes(32).toString('hex'),
    };
  }, 600_000);
  afterAll(async () => {
    await temporal.teardown();
    await database.drop();
    configs.remove();
  });

  it('finishes what it was asked before it stops on SIGTERM, and exits 0', async () => {
    const gateway = await startGateway(env);
    const client = httpClient(gateway.url);
    const answers: (number | 'refused')[] = [];
    let stopping = false;
    const crowd = Array.from({ length: 16 }, async () => {
      while (answers.length < 20_000) {
        try {
          answers.push((await client.post('/api/v1/self-register', softwareEk())).status);
        } catch {
          answers.push('refused');
          if (stopping) return;
        }
      }
    });
    await eventuallyHolds(() => {
      expect(answers.length).toBeGreaterThan(100);
    });
    stopping = true;
    expect(await gateway.current().stop()).toBe(0);
    await Promise.all(crowd);
    expect(answers.filter((answer) => answer !== 200 && answer !== 'refused')).toEqual([]);
    const registered = await database.db('machines').count({ n: '*' }).first();
    expect(registered?.['n']).toBeGreaterThanOrEqual(answers.filter((answer) => answer === 200).length);
  });

  it('tells in /readyz which part is away, and carries the request id through', async () => {
    const gateway = await startGateway(env);
    try {
      const client = httpClient(gateway.url);
      const ready = await client.get('/readyz');
      expect([ready.status, ready.body.status]).toEqual([200, 'ok']);
      expect(ready.body.parts).toMatchObject({ database: { state: 'ok' }, temporal: { state: 'ok' } });
      expect((await client.get('/healthz')).body).toEqual({ status: 'ok' });

      const answer = await client.get('/api/v1/machines', { 'x-request-id': 'my-request-0001' });
      expect([answer.status, answer.headers.get('x-request-id')]).toEqual([401, 'my-request-0001']);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      await eventuallyHolds(() => {
        expect(gateway.current().output()).toContain('"requestId":"my-request-0001"');
      });

      await database.db.raw('alter table schema_migrations rename to schema_migrations_away');
      const down = await client.get('/readyz');
      expect([down.status, down.body.parts.database.state]).toEqual([503, 'down']);
    } finally {
      await database.db.raw('alter table if exists schema_migrations_away rename to schema_migrations');
      await gateway.stop();
    }
  });

  const failedStart = async (
    extra: Record<string, string>,
  ): Promise<{ code: number | null; output: string }> => {
    const child = spawn(process.execPath, [join(packageRoot(), 'dist/api/broker/main.js')], {
      env: { PATH: process.env['PATH'], ...env, ...extra },
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = (await once(child, 'exit')) as [number | null];
    return { code, output };
  };

  it('does not start with settings that do not parse, and tells all of them', async () => {
    const { code, output } = await failedStart({ SVC_REQUIRE_NONCE: 'ture', SVC_PORT: 'x', SVC_TYPO: '1' });
    expect(code).toBe(1);
    for (const name of ['SVC_REQUIRE_NONCE', 'SVC_PORT', 'SVC_TYPO']) expect(output).toContain(name);
    expect(output).not.toContain(ADMIN_TOKEN);
  });

  it('names the variable when its port is in use', async () => {
    const gateway = await startGateway(env);
    try {
      const { code, output } = await failedStart({ SVC_PORT: new URL(gateway.url).port });
      expect(code).toBe(1);
      expect(output).toContain('SVC_PORT');
    } finally {
      await gateway.stop();
    }
  });
});
