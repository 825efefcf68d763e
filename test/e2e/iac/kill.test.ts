import { join } from 'node:path';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunningProcess } from '../../../bench/support/processes.js';
import { startProcess } from '../../../bench/support/processes.js';
import { packageRoot } from '../../../scripts/tools/paths.mjs';
import { IAC_ORG, IAC_TOKEN } from '../../support/iac.js';
import { testDatabase } from '../../support/postgres.js';
import type { TestDatabase } from '../../support/postgres.js';
import { exportedState, pendingNames, pulumiUser, stashNames, stashProgram } from '../../support/pulumi.js';

const RESOURCES = 200;
const UPDATES = 5;
const KILLS_PER_UPDATE = 4;

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });

/** The built gateway, as it runs in production, killed with -9 in the middle of an update by the real CLI. */
describe('a gateway that is killed during an update', () => {
  let database: TestDatabase;
  let port: number;
  let gateway: RunningProcess;
  const startGateway = (): Promise<RunningProcess> =>
    startProcess({
      entry: join(packageRoot(), 'dist/api/broker/main.js'),
      env: {
        DATABASE_URL: database.url,
        TEMPORAL_ADDRESS: '127.0.0.1:9',
        SVC_PORT: String(port),
        SVC_IAC_TOKEN: IAC_TOKEN,
        SVC_IAC_ORG: IAC_ORG,
        SVC_SHARED_SECRET_MASTER_KEY: '42'.repeat(32),
        LOG_LEVEL: 'warn',
      },
      readyUrl: `http://127.0.0.1:${port}/healthz`,
    });
  beforeAll(async () => {
    database = await testDatabase();
    port = await freePort();
    gateway = await startGateway();
  });
  afterAll(async () => {
    await gateway.stop();
    await database.drop();
  });

  it.each(Array.from({ length: UPDATES }, (_, n) => n))(
    `knows after its restart every resource that was created (update %i of ${UPDATES}, ${KILLS_PER_UPDATE} kills)`,
    async (n) => {
      const user = await pulumiUser(`http://127.0.0.1:${port}`);
      await user.program(stashProgram(`kill${n}`, RESOURCES));
      await user.run('stack', 'init', 'dev');
      const created = new Set<string>();
      const kills: Promise<void>[] = [];
      const killAndRestart = async (): Promise<void> => {
        await gateway.kill('SIGKILL');
        gateway = await startGateway();
      };
      const update = user.start(['up', '--yes', '--skip-preview']);
      update.child.stdout?.on('data', (text: string) => {
        for (const [, name] of text.matchAll(/Stash (r\d+) created/g)) created.add(name ?? '');
        const due = Math.floor((created.size / RESOURCES) * (KILLS_PER_UPDATE + 1));
        if (kills.length < Math.min(due, KILLS_PER_UPDATE)) {
          kills.push((kills.at(-1) ?? Promise.resolve()).then(killAndRestart));
        }
      });
      const { code } = await update.result;
      await Promise.all(kills);
      expect(kills).toHaveLength(KILLS_PER_UPDATE);
      if (code !== 0) await user.attempt('cancel', '--yes');
      const state = await exportedState(user);
      const known = new Set([...stashNames(state), ...pendingNames(state)]);
      expect([...created].filter((name) => !known.has(name))).toEqual([]);
      await user.run('refresh', '--yes', '--skip-preview', '--clear-pending-creates');
      await user.run('up', '--yes', '--skip-preview');
      expect(stashNames(await exportedState(user))).toHaveLength(RESOURCES);
      await user.remove();
    },
    240_000,
  );
});
