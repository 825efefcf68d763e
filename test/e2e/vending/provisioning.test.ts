import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { progress } from '../../../workflows/vending/messages.js';
import { createdEvent, vendingWorld } from '../../support/vending.js';
import type { VendingWorld } from '../../support/vending.js';

const BUILT_IN = ['STEP_MG', 'STEP_INITIATIVE', 'STEP_RBAC', 'STEP_POLICY', 'STEP_BUDGET', 'STEP_NOTIFY'];

describe('provisioning from an event', () => {
  let world: VendingWorld;
  const effectsOf = (id: string) => {
    const about = (collection: string) =>
      world.cloud.store.all<{ id: string }>(collection).filter((entry) => entry.id.includes(`/${id}/`));
    return {
      roles: about('roleAssignments'),
      budgets: about('budgets'),
      policies: about('policyAssignments'),
    };
  };
  const subscription = (id: string, extra: object = {}) =>
    world.cloud.control('subscriptions', { subscription_id: id, announce: false, ...extra });
  const deliver = (...events: object[]) => world.gateway.request('POST', '/webhook/', events);
  const runOf = async (id: string) => (await world.gateway.request('GET', `/runs/${id}`)).body;

  beforeAll(async () => {
    world = await vendingWorld({
      settings: {
        VENDING_DEFAULT_POLICIES: JSON.stringify([
          {
            name: 'require-tags',
            definition_id: '/providers/Microsoft.Authorization/policyDefinitions/tags',
          },
        ]),
      },
    });
  }, 120_000);
  afterAll(() => world.close());

  it('ends in six done steps, seen in /runs, in the workflow and as an outbound event', async () => {
    await subscription('all-1', {
      display_name: 'Shop',
      tags: { 'svc-environment': 'Production', 'svc-budget': '500', 'svc-owner': 'a@example.org' },
    });
    const answer = await deliver(createdEvent('all-1'));
    expect(answer).toMatchObject({ status: 200, text: '' });
    const run = await runOf('all-1');
    expect(run).toMatchObject({
      status: 'succeeded',
      subscription_name: 'Shop',
      environment: 'production',
      management_group: 'Keystead-Production',
      initiative_id: 'foundation-all-1',
      errors: [],
      trigger: 'event',
      workflow_id: 'provision:all-1',
    });
    expect(run.steps.map((step: { name: string }) => step.name)).toEqual(BUILT_IN);
    for (const step of run.steps) {
      expect(step).toMatchObject({ status: 'done', attempts: 1, error: '' });
      expect(Date.parse(step.ended_at)).toBeGreaterThanOrEqual(Date.parse(step.started_at));
    }
    expect(run.lifecycle.map((one: { event: string }) => one.event).sort()).toEqual([
      'COMPLETED',
      'STARTED',
      'SUCCEEDED',
    ]);
    expect(run.rbac_roles).toHaveLength(4);
    const effects = effectsOf('all-1');
    expect(effects.roles).toHaveLength(4);
    expect(effects.budgets).toMatchObject([{ properties: { amount: 500, category: 'Cost' } }]);
    expect(effects.policies).toMatchObject([{ properties: { enforcementMode: 'Default' } }]);
    expect(world.cloud.store.get('published', run.run_id)).toMatchObject({
      deliveries: 1,
      event: {
        eventType: 'SVC.SubscriptionVending.SubscriptionProvisioned',
        dataVersion: '1',
        data: { subscription_id: 'all-1', management_group: 'Keystead-Production', success: true },
      },
    });
    const handle = world.temporal.client.workflow.getHandle('provision:all-1');
    expect((await handle.query(progress)).map(({ status }) => status)).toEqual(Array(6).fill('done'));
  });

  it('does nothing again for a redelivery of a finished run, and asks for another run after a failed one', async () => {
    await subscription('again-1');
    const event = createdEvent('again-1');
    await deliver(event);
    const first = await runOf('again-1');
    expect(first.status).toBe('succeeded');
    await deliver(event);
    expect((await runOf('again-1')).run_id).toBe(first.run_id);

    await subscription('again-2');
    await world.cloud.control('faults', { method: 'POST', path: '/sync/foundation', status: 400, code: 'x' });
    const failing = createdEvent('again-2');
    await deliver(failing);
    expect(await runOf('again-2')).toMatchObject({
      status: 'failed',
      errors: [expect.stringContaining('STEP_INITIATIVE')],
    });
    await deliver(failing);
    expect(await runOf('again-2')).toMatchObject({ status: 'succeeded', earlier: [{ status: 'failed' }] });
  });

  it('has one set of effects of 1,000 parallel copies', async () => {
    await subscription('copies-1', { tags: { 'svc-budget': '10' } });
    const event = createdEvent('copies-1');
    const answers = await Promise.all(Array.from({ length: 1000 }, () => deliver(event)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    const run = await runOf('copies-1');
    expect(run).toMatchObject({ status: 'succeeded', earlier: [] });
    const effects = effectsOf('copies-1');
    expect(effects.roles).toHaveLength(4);
    expect(effects.budgets).toHaveLength(1);
    expect(world.cloud.store.get('published', run.run_id)).toMatchObject({ deliveries: 1 });
  }, 120_000);

  it('knows a subscription id in any case as one', async () => {
    const id = 'AB0C7E52-9F0E-4B52-8A7E-3F0C5D2B9E10';
    await subscription(id);
    await Promise.all([deliver(createdEvent(id)), deliver(createdEvent(id.toLowerCase()))]);
    expect((await runOf(id)).workflow_id).toBe(`provision:${id.toLowerCase()}`);
    expect(effectsOf(id).roles.length + effectsOf(id.toLowerCase()).roles.length).toBe(4);
  });

  it('tries on while a fresh subscription refuses writes, and shows the attempts', async () => {
    await subscription('fresh-1', { settling_seconds: 2 });
    await deliver(createdEvent('fresh-1'));
    const run = await runOf('fresh-1');
    expect(run.status).toBe('succeeded');
    expect(run.steps.find((step: { name: string }) => step.name === 'STEP_RBAC').attempts).toBeGreaterThan(1);
  });

  it('waits as long as a throttled service asks', async () => {
    await subscription('throttled-1');
    await world.cloud.control('faults', {
      path: 'managementGroups/Keystead-Sandbox/subscriptions/throttled-1',
      status: 429,
      code: 'TooManyRequests',
      retry_after_seconds: 2,
    });
    await deliver(createdEvent('throttled-1'));
    const run = await runOf('throttled-1');
    const step = run.steps[0];
    expect(step).toMatchObject({ status: 'done', attempts: 2 });
    expect(Date.parse(step.ended_at) - Date.parse(step.started_at)).toBeGreaterThanOrEqual(1900);
  });

  it('records a failing step and goes on; what a principal got is in the record', async () => {
    await subscription('partly-1');
    await world.cloud.control('faults', {
      path: 'partly-1/providers/Microsoft.Authorization/roleAssignments',
      status: 400,
      code: 'BadRequestFormat',
    });
    await deliver(createdEvent('partly-1'));
    const run = await runOf('partly-1');
    expect(run.status).toBe('failed');
    expect(run.errors).toEqual([expect.stringContaining('BadRequestFormat')]);
    expect(run.rbac_roles).toHaveLength(3);
    const states = Object.fromEntries(
      run.steps.map((step: { name: string; status: string }) => [step.name, step.status]),
    );
    expect(states).toMatchObject({ STEP_RBAC: 'failed', STEP_POLICY: 'done', STEP_NOTIFY: 'done' });
    expect(world.cloud.store.get('published', run.run_id)).toMatchObject({
      event: { data: { success: false } },
    });
  });

  it('uses the root group instead of one that does not exist, and says so', async () => {
    await subscription('root-1');
    await deliver(createdEvent('root-1', { managementGroupId: 'Gone' }));
    const run = await runOf('root-1');
    expect(run).toMatchObject({ status: 'failed', management_group: 'Keystead' });
    expect(run.errors[0]).toContain("'Gone' does not exist");
  });

  it('never takes an unreadable subscription for one without tags', async () => {
    await subscription('unread-1', { tags: { 'svc-environment': 'production' } });
    await world.cloud.control('faults', {
      method: 'GET',
      path: '/subscriptions/unread-1',
      times: 2,
      status: 500,
    });
    await deliver(createdEvent('unread-1'));
    expect(await runOf('unread-1')).toMatchObject({
      status: 'succeeded',
      management_group: 'Keystead-Production',
    });

    await subscription('unread-2');
    await world.cloud.control('faults', {
      method: 'GET',
      path: '/subscriptions/unread-2',
      status: 403,
      code: 'Forbidden',
    });
    await deliver(createdEvent('unread-2'));
    const refused = await runOf('unread-2');
    expect(refused).toMatchObject({ status: 'failed', management_group: '' });
    expect(refused.steps.map((step: { status: string }) => step.status)).toEqual(Array(6).fill('blocked'));
  });

  it('starts every event of a batch, whatever becomes of the others', async () => {
    const ids = ['batch-1', 'batch-2', 'batch-3'];
    for (const id of ids) await subscription(id);
    await world.cloud.control('faults', { method: 'POST', path: '/sync/foundation', status: 400 });
    await deliver(...ids.map((id) => createdEvent(id)));
    const runs = await Promise.all(ids.map(runOf));
    expect(runs.filter(({ status }) => status === 'succeeded')).toHaveLength(2);
    expect(runs.filter(({ status }) => status === 'failed')).toHaveLength(1);
  });

  it('writes the end of a cancelled run', async () => {
    await subscription('cancel-1');
    await world.cloud.control('faults', { path: 'subscriptions/cancel-1', times: 50, status: 500 });
    const delivered = deliver(createdEvent('cancel-1'));
    const handle = world.temporal.client.workflow.getHandle('provision:cancel-1');
    for (;;) {
      const steps = await handle.query(progress).catch(() => []);
      if (steps[0]?.status === 'running') break;
    }
    await handle.cancel();
    await delivered;
    const run = await runOf('cancel-1');
    expect(run).toMatchObject({ status: 'failed', errors: ['the run was cancelled'] });
    expect(run.steps[0].status).toBe('failed');
    expect(run.steps[5].status).toBe('blocked');
  });

  it('replays without an event, live and dry', async () => {
    await subscription('replay-1', { tags: { 'svc-environment': 'staging' } });
    const dry = await world.gateway.request('POST', '/webhook/replay', {
      subscription_id: 'replay-1',
      dry_run: true,
    });
    expect(dry.body).toMatchObject({ status: 'ok', subscription_id: 'replay-1', errors: [] });
    expect(dry.body.plan[0]).toBe("[STEP_MG] move to management group 'Keystead-Staging'");
    expect(effectsOf('replay-1').roles).toEqual([]);
    const live = await world.gateway.request('POST', '/webhook/replay', { subscription_id: 'replay-1' });
    expect(live.body).toMatchObject({ status: 'ok', errors: [] });
    expect(live.body.plan[0]).toBe("[STEP_MG] moved to group 'Keystead-Staging'");
    expect(effectsOf('replay-1').roles).toHaveLength(4);
  });
});
