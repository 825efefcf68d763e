import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { workflowIds } from '../../workflows/ids.js';
import type { MachineFacts, MaybeAnswer } from '../support/broker-operations.js';
import { attestedMachine, machineFacts, pendingMachine } from '../support/broker-operations.js';
import { eventually } from '../support/eventually.js';
import type { HttpClient } from '../support/http.js';
import { httpClient } from '../support/http.js';
import type { Operators } from '../support/operators.js';
import { startOperators } from '../support/operators.js';
import type { TestDatabase } from '../support/postgres.js';
import { testDatabase } from '../support/postgres.js';
import type { Gateway, Restartable } from '../support/processes.js';
import { buildOnce, roleConfigFolder, startGateway, startWorkers } from '../support/processes.js';
import { seeded } from '../support/random.js';
import { temporalServer } from '../support/temporal.js';

const KILLS = 20;
const EACH = 4;
const MAX_DELAY_MS = 60;
const ADMIN_TOKEN = 'kill-test-admin-token';
const RELAYED = ['event', 'build-image', 'revoke-and-wipe', 'wipe-told', 'wipe-completed'];

const seed = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31));

interface Operation {
  readonly kind: 'approve' | 'votes' | 'revoke' | 'fetch';
  readonly machineId: string;
  readonly before: MachineFacts;
  /** Sends it; all its answers, in order. */
  readonly send: () => Promise<readonly MaybeAnswer[]>;
}

describe(`kill -9 in the middle of acts (TEST_SEED=${seed})`, () => {
  const random = seeded(seed);
  let server: TestWorkflowEnvironment;
  let database: TestDatabase;
  let operators: Operators;
  let workers: Restartable;
  let victim: Gateway;
  let survivor: Gateway;
  const configs = roleConfigFolder();

  beforeAll(async () => {
    await buildOnce();
    [server, database, operators] = await Promise.all([temporalServer(), testDatabase(), startOperators()]);
    const env = {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: server.address,
      LOG_LEVEL: 'info',
      SVC_ADMIN_TOKEN: ADMIN_TOKEN,
      SVC_OIDC_ISSUER: operators.issuerUrl,
      SVC_DUAL_CONTROL_ROLES: 'controlplane',
      SVC_ISO_URL: 'https://images.test/node.iso',
      SVC_CONFIG_CACHE_DIR: configs.path,
      SVC_ENROLLMENT_CA_DIR: `${configs.path}/ca`,
      SVC_SHARED_SECRET_MASTER_KEY: randomBytes(32).toString('hex'),
    };
    [workers, victim, survivor] = await Promise.all([
      startWorkers(env),
      startGateway(env),
      startGateway(env),
    ]);
  }, 180_000);
  afterAll(async () => {
    await Promise.all([victim.stop(), survivor.stop(), workers.stop()]);
    await Promise.all([server.teardown(), database.drop(), operators.stop()]);
    configs.remove();
  });

  const nodeOf = (gateway: Gateway): HttpClient => httpClient(gateway.url);
  const adminOf = (gateway: Gateway): HttpClient =>
    httpClient(gateway.url, { authorization: `Bearer ${ADMIN_TOKEN}` });

  const answer = async (call: Promise<{ status: number; text: string }>): Promise<MaybeAnswer> => {
    try {
      const { status, text } = await call;
      return { status, text };
    } catch {
      return undefined;
    }
  };
  const vote = (gateway: Gateway, machineId: string, name: string): Promise<MaybeAnswer> =>
    answer(
      httpClient(gateway.url, operators.headers(name)).post(`/api/v1/machines/${machineId}/approve`, {
        role: 'controlplane',
      }),
    );

  const prepare = async (kind: Operation['kind'], gateway: Gateway): Promise<Operation> => {
    const settled = [nodeOf(survivor), adminOf(survivor)] as const;
    const admin = adminOf(gateway);
    const attested = kind === 'revoke' || kind === 'fetch' ? await attestedMachine(...settled) : undefined;
    const machineId = attested?.machineId ?? (await pendingMachine(settled[0])).machineId;
    const before = await machineFacts(database.db, machineId);
    const path = `/api/v1/machines/${machineId}`;
    const send = {
      approve: async () => [await answer(admin.post(`${path}/approve`, { role: 'worker-app' }))],
      votes: () => Promise.all(['ann', 'ben'].map((name) => vote(gateway, machineId, name))),
      revoke: async () => [await answer(admin.post(`${path}/revoke`, { wipe: true }))],
      fetch: async () => [await answer(nodeOf(gateway).get(`/api/v1/config/${attested?.token ?? ''}`))],
    }[kind];
    return { kind, machineId, before, send };
  };

  /** The only states that there may be, each with the answers that it goes with. */
  const judge = async ({ kind, machineId, before }: Operation, answers: readonly MaybeAnswer[]) => {
    const after = await machineFacts(database.db, machineId);
    const statuses = answers.map((one) => one?.status);
    const done: Record<Operation['kind'], Partial<MachineFacts>> = {
      approve: { status: 'registered', tokens: before.tokens + 1, acts: [...before.acts, 'approve'] },
      votes: {
        status: 'registered',
        tokens: 1,
        openVotes: 0,
        acts: ['approve_vote', 'approve_vote', 'approve'],
      },
      revoke: { status: 'revoked', acts: [...before.acts, 'revoke'] },
      fetch: { status: 'attested', consumed: before.consumed + 1 },
    };
    const one: Partial<MachineFacts> = { ...before, openVotes: 1, acts: ['approve_vote'] };
    const allowed = [done[kind]];
    const approved = statuses.includes(200);
    if (!approved && !statuses.includes(202)) allowed.push(before);
    if (!approved && kind === 'votes') allowed.push(one);
    const matches = allowed.some((facts) =>
      Object.entries(facts).every(
        ([name, value]) => JSON.stringify(after[name as keyof MachineFacts]) === JSON.stringify(value),
      ),
    );
    expect({ kind, statuses, after, matches }).toEqual({ kind, statuses, after, matches: true });
  };

  /** What was not answered is asked again, and then it is so; once. */
  const finish = async ({ kind, machineId }: Operation): Promise<void> => {
    if (kind === 'votes') {
      await vote(survivor, machineId, 'ann');
      await vote(survivor, machineId, 'ben');
    } else if (kind === 'approve') {
      await adminOf(survivor).post(`/api/v1/machines/${machineId}/approve`, { role: 'worker-app' });
    } else if (kind === 'revoke') {
      await adminOf(survivor).post(`/api/v1/machines/${machineId}/revoke`, { wipe: true });
    }
    const { status, acts } = await machineFacts(database.db, machineId);
    const expected = { approve: 'registered', votes: 'registered', revoke: 'revoked', fetch: 'attested' };
    expect([kind, status]).toEqual([kind, expected[kind]]);
    if (kind === 'revoke') expect(acts.filter((act) => act === 'revoke')).toHaveLength(1);
  };

  const everythingHolds = async (operations: readonly Operation[]): Promise<void> => {
    expect((await adminOf(survivor).get('/api/v1/audit/verify')).body).toMatchObject({ valid: true });
    await eventually(
      async () => (await database.db('outbox').whereIn('topic', RELAYED)).length === 0,
      30_000,
    );
    for (const { machineId } of operations.filter(({ kind }) => kind === 'revoke')) {
      const { status } = await server.client.workflow.getHandle(workflowIds.revoke(machineId)).describe();
      expect(status.name).toBe('RUNNING');
    }
  };

  const round = async (process: Restartable): Promise<void> => {
    const kinds = (['approve', 'votes', 'revoke', 'fetch'] as const).flatMap((kind) =>
      Array.from({ length: EACH }, () => kind),
    );
    const operations = await Promise.all(
      kinds.map((kind, i) => prepare(kind, i % EACH === 0 ? survivor : victim)),
    );
    const sent = operations.map(async (operation) => {
      await delay(random() * MAX_DELAY_MS);
      return operation.send();
    });
    await delay(random() * MAX_DELAY_MS);
    await process.kill();
    await process.start();
    const answers = await Promise.all(sent);
    for (const [i, operation] of operations.entries()) await judge(operation, answers[i]!);
    await Promise.all(operations.map(finish));
    await everythingHolds(operations);
  };

  it.each(Array.from({ length: KILLS }, (_, i) => i + 1))('a gateway, %i', () => round(victim), 120_000);

  it.each(Array.from({ length: KILLS }, (_, i) => i + 1))('the worker, %i', () => round(workers), 120_000);
});
