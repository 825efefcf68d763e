import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transitions } from '../../domain/broker/lifecycle.js';
import type { MachineStatus } from '../../domain/broker/machine.js';
import type { Answer, Crowd } from '../support/crowd.js';
import { crowdOf, tally } from '../support/crowd.js';
import { softwareEk } from '../support/ek.js';
import type { Operators } from '../support/operators.js';
import { startOperators } from '../support/operators.js';
import { ADMIN_TOKEN, brokerWorld } from '../support/world.js';
import type { BrokerWorld } from '../support/world.js';

const ATTESTS = 1_000;
const REGISTRATIONS = 100;
const APPROVALS = 32;
const VOTE_ROUNDS = 200;
const CONCURRENT_ROUNDS = 10;

const times = (n: number): readonly number[] => Array.from({ length: n }, (_, i) => i);
const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` };

describe('races through two gateways', () => {
  let operators: Operators;
  let world: BrokerWorld;
  let crowd: Crowd;
  beforeAll(async () => {
    operators = await startOperators();
    world = await brokerWorld({
      gateways: 2,
      worker: true,
      settings: {
        SVC_NONCE_STORE: 'postgres',
        SVC_OIDC_ISSUER: operators.issuerUrl,
        SVC_DUAL_CONTROL_ROLES: 'controlplane',
      },
    });
    crowd = crowdOf(world.urls);
  });
  afterAll(async () => {
    await crowd.close();
    await world.close();
    await operators.stop();
  });

  const act = (index: number, machineId: string, name: string, body: object = {}): Promise<Answer> =>
    crowd.post(index, `/api/v1/machines/${machineId}/${name}`, body, bearer);
  const pendingMachine = async () => {
    const ek = softwareEk();
    const { body } = await world.node.post('/api/v1/self-register', ek);
    return { ek, machineId: body.machine_id as string };
  };
  const machineIn = async (status: MachineStatus): Promise<string> => {
    const { ek, machineId } = await pendingMachine();
    if (status === 'pending_approval') return machineId;
    await act(0, machineId, 'approve', { role: 'worker-app' });
    if (status === 'registered') return machineId;
    await world.node.post('/api/v1/attest', ek);
    if (status === 'locked') await act(0, machineId, 'lock');
    return machineId;
  };
  const statusOf = async (machineId: string): Promise<MachineStatus> =>
    (await world.admin.get(`/api/v1/machines/${machineId}`)).body.status as MachineStatus;
  const expectValidChain = async () =>
    expect((await world.admin.get('/api/v1/audit/verify')).body).toMatchObject({ valid: true, error: null });

  it(`accepts one of ${ATTESTS} attests on one nonce`, async () => {
    const { ek } = await pendingMachine();
    for (let round = 0; round < 3; round += 1) {
      const { nonce_id } = (await world.node.get('/api/v1/attest/challenge')).body as { nonce_id: string };
      const answers = await Promise.all(
        times(ATTESTS).map((i) => crowd.post(i, '/api/v1/attest', { ...ek, nonce_id })),
      );
      expect(tally(answers)).toEqual({ 200: 1, 409: ATTESTS - 1 });
    }
  });

  it(`makes one machine of ${REGISTRATIONS} registrations of one EK, however it is spelled`, async () => {
    const ek = softwareEk();
    const sha256 = createHash('sha256').update(Buffer.from(ek.ek_cert_pem, 'base64')).digest('hex');
    const answers = await Promise.all(
      times(REGISTRATIONS).map((i) =>
        crowd.post(i, `/api/v1/${i % 3 === 0 ? 'register' : 'self-register'}`, {
          ...ek,
          ...(i % 2 === 0 ? { ek_fingerprint: sha256 } : {}),
        }),
      ),
    );
    expect(tally(answers)).toEqual({ 200: REGISTRATIONS });
    expect(new Set(answers.map(({ body }) => body.machine_id as string)).size).toBe(1);
    expect(
      await world.db('machines').where({ ek_fingerprint: ek.ek_fingerprint }).pluck('machine_id'),
    ).toEqual([answers[0]!.body.machine_id]);
  });

  it(`keeps one audit chain over ${APPROVALS} approvals at once`, async () => {
    const machines = await Promise.all(times(APPROVALS).map(pendingMachine));
    const answers = await Promise.all(
      machines.map(({ machineId }, i) => act(i, machineId, 'approve', { role: 'worker-infra' })),
    );
    expect(tally(answers)).toEqual({ 200: APPROVALS });
    await expectValidChain();
    const ids = await world.db('audit_log').orderBy('id').pluck<number[]>('id');
    expect(ids).toEqual(ids.map((_, i) => i + 1));
  });

  it(`opens one window for two first votes at once, ${VOTE_ROUNDS} times`, async () => {
    const headers = [operators.headers('ann'), operators.headers('ben')];
    const rounds: Record<string, number>[] = [];
    for (let round = 0; round < VOTE_ROUNDS; round += 1) {
      const { machineId } = await pendingMachine();
      const answers = await Promise.all(
        headers.map((operator, i) =>
          crowd.post(i, `/api/v1/machines/${machineId}/approve`, { role: 'controlplane' }, operator),
        ),
      );
      rounds.push({ ...tally(answers) });
    }
    expect(rounds.filter((round) => round['202'] !== 1 || round['200'] !== 1)).toEqual([]);
    await expectValidChain();
  }, 240_000);

  it('never lets one operator be both voters, by whatever gateway', async () => {
    const { machineId } = await pendingMachine();
    const answers = await Promise.all(
      times(16).map((i) =>
        crowd.post(
          i,
          `/api/v1/machines/${machineId}/approve`,
          { role: 'controlplane' },
          operators.headers('ann'),
        ),
      ),
    );
    expect(tally(answers)).toEqual({ 202: 16 });
    expect(await statusOf(machineId)).toBe('pending_approval');
  });

  describe('approve, revoke and lock', () => {
    const acts = ['approve', 'revoke', 'lock'] as const;
    type Act = (typeof acts)[number];
    const starts: readonly MachineStatus[] = ['pending_approval', 'registered', 'attested', 'locked'];
    const permutations = <T>(items: readonly T[]): T[][] =>
      items.length < 2
        ? [[...items]]
        : items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
    /** What the table says of the acts in this order. */
    const serial = (start: MachineStatus, order: readonly Act[]) => {
      let status = start;
      const answers: Partial<Record<Act, number>> = {};
      for (const name of order) {
        const allowed = transitions[name].from.includes(status);
        answers[name] = allowed ? 200 : 409;
        if (allowed) status = transitions[name].to;
      }
      return { answers, status };
    };
    const bodyOf = (name: Act): object => (name === 'approve' ? { role: 'worker-app' } : {});

    it.each(starts.flatMap((start) => permutations(acts).map((order) => [start, order] as const)))(
      'from %s: %j one after the other',
      async (start, order) => {
        const machineId = await machineIn(start);
        const expected = serial(start, order);
        for (const [i, name] of order.entries()) {
          const { status } = await act(i, machineId, name, bodyOf(name));
          expect([name, status]).toEqual([name, expected.answers[name]]);
        }
        expect(await statusOf(machineId)).toBe(expected.status);
      },
    );

    it.each(starts)('from %s: at once, ends as some order would have', async (start) => {
      for (let round = 0; round < CONCURRENT_ROUNDS; round += 1) {
        const machineId = await machineIn(start);
        const answers = await Promise.all(
          acts.map(
            async (name, i) => [name, (await act(i + round, machineId, name, bodyOf(name))).status] as const,
          ),
        );
        const outcome = { answers: Object.fromEntries(answers), status: await statusOf(machineId) };
        expect(permutations(acts).map((order) => serial(start, order))).toContainEqual(outcome);
        const rows = await world
          .db('audit_log')
          .select<{ prev_state: string; new_state: string }[]>('prev_state', 'new_state')
          .where({ machine_id: machineId })
          .orderBy('id');
        for (const [i, row] of rows.entries()) {
          // An attest is no act of an operator: it has no row.
          const before = rows[i - 1]?.new_state ?? 'pending_approval';
          expect(row.prev_state === 'attested' ? ['registered', 'attested'] : [row.prev_state]).toContain(
            before,
          );
        }
        expect(rows.at(-1)?.new_state ?? start).toBe(outcome.status);
      }
    });
  });
});
