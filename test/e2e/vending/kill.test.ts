import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RunningProcess } from '../../../bench/support/processes.js';
import { startProcess } from '../../../bench/support/processes.js';
import { openStore } from '../../../scripts/local-cloud/store.js';
import { startLocalCloud } from '../../../scripts/local-cloud/server.js';
import { ensureDatabase } from '../../../scripts/stack/database.js';
import { freePort } from '../../../scripts/stack/ports.js';
import { devServerTuning } from '../../../scripts/stack/temporal.js';
import { startEmbeddedPostgres } from '../../../scripts/tools/embedded-postgres.mjs';
import type { EmbeddedPostgresServer } from '../../../scripts/tools/embedded-postgres.mjs';
import { packageRoot } from '../../../scripts/tools/paths.mjs';
import { ensureTemporalCli } from '../../../scripts/tools/temporal-cli.mjs';
import { connectDatabase } from '../../../db/connect.js';
import { eventuallyHolds } from '../../support/eventually.js';
import { silentLog } from '../../support/log.js';
import { buildOnce } from '../../support/processes.js';
import { seeded } from '../../support/random.js';
import { createdEvent } from '../../support/vending.js';

/** 200 by hand (docs/vending.md), fewer in every run of the tests. */
const RUNS = Number(process.env['TEST_KILL_RUNS'] ?? 40);
const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31));
const VICTIMS = ['gateway', 'workers', 'cloud', 'temporal', 'postgres'] as const;
type Victim = (typeof VICTIMS)[number];

describe(`kill -9 of every part during ${RUNS} runs (TEST_SEED=${seed})`, () => {
  const random = seeded(seed);
  let dir: string;
  let env: Record<string, string>;
  let url: string;
  let cloudDir: string;
  let postgres: EmbeddedPostgresServer;
  let temporal: ChildProcess;
  const ours = new Map<Victim, RunningProcess>();
  const ports = { postgres: 0, temporal: 0, ui: 0, cloud: 0, gateway: 0 };
  const entry = (path: string) => join(packageRoot(), 'dist', path);

  const startDatabase = async (): Promise<void> => {
    postgres = await startEmbeddedPostgres({
      dataDir: join(dir, 'postgres'),
      port: ports.postgres,
      ownGroup: true,
    });
  };
  const startTemporalServer = async (): Promise<void> => {
    const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--headless', '--port', String(ports.temporal)];
    const file = ['--db-filename', join(dir, 'temporal.db'), '--log-level', 'never', ...devServerTuning];
    temporal = spawn(await ensureTemporalCli(), [...args, ...file], { stdio: 'ignore' });
  };
  const starters: Record<Victim, () => Promise<void>> = {
    postgres: startDatabase,
    temporal: startTemporalServer,
    cloud: async () => {
      const args = [cloudDir, String(ports.cloud)];
      ours.set(
        'cloud',
        await startProcess({
          entry: entry('scripts/local-cloud/main.js'),
          args,
          env: {},
          readyText: 'local cloud runs',
        }),
      );
    },
    workers: async () => {
      ours.set(
        'workers',
        await startProcess({ entry: entry('workers/main.js'), env, readyText: '"msg":"workers run"' }),
      );
    },
    gateway: async () => {
      ours.set(
        'gateway',
        await startProcess({ entry: entry('api/vending/main.js'), env, readyUrl: `${url}/readyz` }),
      );
    },
  };
  const kill = async (victim: Victim): Promise<void> => {
    if (victim === 'temporal' || victim === 'postgres') {
      const child = victim === 'temporal' ? temporal : postgres.process;
      const ended = once(child, 'exit');
      // The postmaster takes its children along by an immediate shutdown; the log is replayed at the next start.
      child.kill(victim === 'temporal' ? 'SIGKILL' : 'SIGQUIT');
      await ended;
    } else await ours.get(victim)?.kill('SIGKILL');
  };

  beforeAll(async () => {
    await buildOnce();
    dir = await mkdtemp(join(tmpdir(), 'keystead-kill-'));
    await chmod(dir, 0o755);
    for (const name of Object.keys(ports) as (keyof typeof ports)[]) ports[name] = await freePort(0);
    url = `http://127.0.0.1:${ports.gateway}`;
    cloudDir = join(dir, 'cloud');
    const first = await startLocalCloud({ dir: cloudDir, log: silentLog, port: ports.cloud });
    for (let n = 0; n < RUNS; n += 1) {
      const id = `kill-${n}`;
      first.store.put('subscriptions', id, {
        id,
        displayName: id,
        tags: { 'svc-budget': '9' },
        writableAt: 0,
        group: '',
      });
    }
    await first.close();
    await startDatabase();
    env = {
      ...first.settings,
      LOG_LEVEL: 'info',
      DATABASE_URL: await ensureDatabase(postgres.url, 'keystead'),
      TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}`,
      VENDING_PORT: String(ports.gateway),
      VENDING_EVENT_WAIT_SECONDS: '0',
    };
    await startTemporalServer();
    await starters.cloud();
    await Promise.all([starters.workers(), starters.gateway()]);
  }, 300_000);

  afterAll(async () => {
    for (const running of ours.values()) await running.kill('SIGKILL');
    temporal.kill('SIGKILL');
    await postgres.stop();
    await rm(dir, { recursive: true, force: true });
  }, 60_000);

  /** The sender's part: again until it is accepted, as the delivery service does. */
  const deliver = async (id: string): Promise<void> => {
    const event = createdEvent(id, {}, `event-${id}`);
    for (;;) {
      const answer = await fetch(`${url}/webhook/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify([event]),
        signal: AbortSignal.timeout(10_000),
      }).catch(() => undefined);
      if (answer?.status === 200) return;
      expect([undefined, 500, 503]).toContain(answer?.status);
      await delay(200);
    }
  };

  it('loses no accepted event and doubles no effect', async () => {
    const sending = Array.from({ length: RUNS }, async (_, n) => {
      await delay(random() * RUNS * 400);
      await deliver(`kill-${n}`);
    });
    const state = { sent: false };
    const all = Promise.all(sending).then(() => (state.sent = true));
    const killed: Victim[] = [];
    while (!state.sent) {
      await delay(500 + random() * 1500);
      const victim = VICTIMS[Math.floor(random() * VICTIMS.length)]!;
      killed.push(victim);
      await kill(victim);
      await starters[victim]();
    }
    await all;
    expect(killed.length).toBeGreaterThan(0);

    const db = connectDatabase({ DATABASE_URL: env['DATABASE_URL']!, DATABASE_POOL_MAX: 2 }, 'kill-test');
    db.client.pool.on?.('error', () => undefined);
    await eventuallyHolds(async () => {
      const open = await db('vending_inbox')
        .leftJoin('vending_runs', 'vending_runs.id', 'run_id')
        .whereNot('status', 'succeeded')
        .orWhereNull('run_id')
        .select('vending_inbox.subscription_id', 'status', 'errors');
      expect(open).toEqual([]);
    }, 240_000);
    expect(await db('vending_inbox').count('* as n').first()).toEqual({ n: RUNS });
    expect(await db('vending_runs').count('* as n').first()).toEqual({ n: RUNS });
    await db.destroy();

    const cloud = openStore(cloudDir);
    const of = (collection: string) =>
      cloud.all<{ id: string }>(collection).map(({ id }) => id.split('/')[2]);
    for (let n = 0; n < RUNS; n += 1) {
      const id = `kill-${n}`;
      expect([id, of('roleAssignments').filter((owner) => owner === id).length]).toEqual([id, 4]);
      expect([id, of('budgets').filter((owner) => owner === id).length]).toEqual([id, 1]);
    }
    expect(cloud.all('published')).toHaveLength(RUNS);
  }, 600_000);
});
