import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { workflowIds } from '../../../workflows/ids.js';
import { softwareEk } from '../../support/ek.js';
import { eventuallyHolds } from '../../support/eventually.js';
import { startOidcIssuer } from '../../../scripts/stack/oidc/issuer.js';
import { httpClient } from '../../support/http.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

describe('dual control', () => {
  let world: BrokerWorld;
  let issuer: Awaited<ReturnType<typeof startOidcIssuer>>;
  let operators: Record<'ann' | 'ben', ReturnType<typeof httpClient>>;

  beforeAll(async () => {
    issuer = await startOidcIssuer({ port: 0 });
    world = await brokerWorld({
      worker: true,
      gateways: 2,
      settings: {
        SVC_OIDC_ISSUER: issuer.url,
        SVC_DUAL_CONTROL_ROLES: 'controlplane',
        SVC_DUAL_CONTROL_WINDOW_SECONDS: '600',
      },
    });
    const [one = '', two = ''] = world.urls;
    operators = {
      ann: httpClient(one, { authorization: `Bearer ${await issuer.tokenFor('ann')}` }),
      ben: httpClient(two, { authorization: `Bearer ${await issuer.tokenFor('ben')}` }),
    };
  });
  afterAll(async () => {
    await world.close();
    await issuer.stop();
  });

  const waiting = async (): Promise<string> =>
    (await world.node.post('/api/v1/self-register', softwareEk())).body.machine_id as string;
  const approve = (who: 'ann' | 'ben', machineId: string, body: object = { role: 'controlplane' }) =>
    operators[who].post(`/api/v1/machines/${machineId}/approve`, body);
  const detail = async (machineId: string) => (await world.admin.get(`/api/v1/machines/${machineId}`)).body;

  it('needs two people: 202 for the first, 200 for the second, both votes in the log', async () => {
    const id = await waiting();
    const first = await approve('ann', id, {
      role: 'controlplane',
      hostname: 'cp-1',
      assigned_ip: '10.0.0.2/24',
    });
    expect(first.status).toBe(202);
    expect(first.body).toMatchObject({
      machine_id: id,
      status: 'pending_second_approval',
      approvals_received: 1,
      approvals_required: 2,
    });
    expect((await detail(id)).status).toBe('pending_approval');
    const open = await world.admin.get(`/api/v1/machines/${id}/approvals`);
    expect(open.body).toEqual([
      expect.objectContaining({ operator_cn: 'ann', role: 'controlplane', consumed: false }),
    ]);

    const second = await approve('ben', id);
    expect(second.status).toBe(200);
    expect(second.body).toMatchObject({
      status: 'registered',
      role: 'controlplane',
      hostname: 'cp-1',
      assigned_ip: '10.0.0.2/24',
    });
    expect((await world.admin.get(`/api/v1/machines/${id}/approvals`)).body).toEqual([]);
    const audit = await world.admin.get(`/api/v1/audit?machine_id=${id}`);
    expect(
      audit.body.map((row: { action: string; operator_cn: string }) => [row.action, row.operator_cn]),
    ).toEqual([
      ['approve', 'ben'],
      ['approve_vote', 'ben'],
      ['approve_vote', 'ann'],
    ]);
    const handle = world.temporal?.client.workflow.getHandle(workflowIds.approval(id));
    expect(await handle?.result()).toBe('approved');
  });

  it('shows the window in Temporal by its machine', async () => {
    const id = await waiting();
    await approve('ann', id);
    const client = world.temporal!.client;
    await eventuallyHolds(async () => {
      const found = [];
      for await (const run of client.workflow.list({ query: `KeysteadMachineId = '${id}'` }))
        found.push(run.workflowId);
      expect(found).toEqual([workflowIds.approval(id)]);
    });
  });

  it('counts one person once, whatever they send, and does not extend the window', async () => {
    const id = await waiting();
    const first = await approve('ann', id);
    const again = await Promise.all([approve('ann', id), approve('ann', id), approve('ann', id)]);
    expect(again.map((answer) => answer.status)).toEqual([202, 202, 202]);
    expect(again.map((answer) => answer.body.expires_at)).toEqual(Array(3).fill(first.body.expires_at));
    expect((await detail(id)).status).toBe('pending_approval');
  });

  it('keeps the gate closed for any other proposal while a window is open', async () => {
    const id = await waiting();
    await approve('ann', id, { role: 'controlplane', hostname: 'cp-9' });
    const otherRole = await approve('ben', id, { role: 'worker-app' });
    expect(otherRole.status).toBe(409);
    expect(otherRole.body.detail).toContain('ann');
    expect((await approve('ben', id, { role: 'controlplane', hostname: 'cp-10' })).status).toBe(409);
    expect((await detail(id)).status).toBe('pending_approval');
    expect((await approve('ben', id, { role: 'controlplane' })).status).toBe(200);
  });

  it('never lets register reach the role without its votes', async () => {
    const ek = softwareEk();
    const answer = await world.node.post('/api/v1/register', { ...ek, desired_role: 'controlplane' });
    expect(answer.body.status).toBe('pending_approval');
    expect((await world.node.post('/api/v1/attest', ek)).body.action).toBe('none');
  });

  it('answers 404 and 409 like any approval', async () => {
    expect((await approve('ann', '00000000-0000-4000-8000-000000000000')).status).toBe(404);
    const id = await waiting();
    await world.admin.post(`/api/v1/machines/${id}/reject`, {});
    expect((await approve('ann', id)).status).toBe(409);
  });

  it('gives exactly one 202 and one 200 to two simultaneous first votes, 200 times', async () => {
    for (let round = 0; round < 200; round += 1) {
      const id = await waiting();
      const answers = await Promise.all([approve('ann', id), approve('ben', id)]);
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 202]);
      expect((await detail(id)).status).toBe('registered');
    }
    expect((await world.admin.get('/api/v1/audit/verify')).body.valid).toBe(true);
  }, 180_000);
});
