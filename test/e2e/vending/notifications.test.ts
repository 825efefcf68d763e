import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { RegisteredStep } from '../../../activities/vending/step.js';
import { createdEvent, vendingWorld } from '../../support/vending.js';
import type { VendingWorld } from '../../support/vending.js';

const SECRET = 'notify-secret-1';

describe('gate, feedback, notices and extension steps', () => {
  let world: VendingWorld;
  const tagged: string[] = [];
  const extension: RegisteredStep = {
    definition: { name: 'STEP_TAGGING', after: ['STEP_RBAC'], kind: 'step', patience: 'service' },
    perform: ({ run }) => {
      tagged.push(run.subscriptionId);
      return Promise.resolve({ status: 'done', summary: 'tagged' });
    },
  };
  const deliver = (id: string) => world.gateway.request('POST', '/webhook/', [createdEvent(id)]);
  const runOf = async (id: string) => (await world.gateway.request('GET', `/runs/${id}`)).body;
  const subscription = (id: string, ticket?: string) =>
    world.cloud.control('subscriptions', {
      subscription_id: id,
      announce: false,
      tags: ticket === undefined ? {} : { 'svc-ticket': ticket },
    });
  const ticket = (number: string, approval: string) => world.cloud.control('tickets', { number, approval });
  const notesOf = (number: string) =>
    world.cloud.store.get<{ work_notes: string[]; state: string }>('tickets', number)!;

  beforeAll(async () => {
    world = await vendingWorld({
      tickets: true,
      extensions: [extension],
      settings: { VENDING_TICKET_SUCCESS_STATE: '3', VENDING_TICKET_FAILURE_STATE: '4' },
      notices: { webhookSecret: SECRET, apiToken: 'api-token-1' },
    });
  }, 120_000);
  afterAll(() => world.close());

  it('passes an approved ticket, runs the extension step, tells everybody and writes the ticket', async () => {
    await ticket('RITM10', 'approved');
    await subscription('gate-1', 'RITM10');
    await deliver('gate-1');
    const run = await runOf('gate-1');
    expect(run).toMatchObject({ status: 'succeeded', gate_passed: true });
    expect(run.steps.map((step: { name: string }) => step.name)).toEqual([
      'STEP_MG',
      'STEP_INITIATIVE',
      'STEP_RBAC',
      'STEP_POLICY',
      'STEP_BUDGET',
      'STEP_TAGGING',
      'STEP_NOTIFY',
      'NOTIFY_API',
      'TICKET_FEEDBACK',
      'NOTIFY_WEBHOOK',
    ]);
    expect(run.plan[0]).toContain('RITM10 passed');
    expect(tagged).toEqual(['gate-1']);
    expect(notesOf('RITM10')).toMatchObject({
      state: '3',
      work_notes: [expect.stringContaining('was provisioned')],
    });
    const notices = world.cloud.store.all<{
      receiver: string;
      headers: Record<string, string>;
      body: { run_id: string };
    }>('notices');
    const webhook = notices.find((one) => one.receiver === 'webhook' && one.body.run_id === run.run_id)!;
    const api = notices.find((one) => one.receiver === 'api' && one.body.run_id === run.run_id)!;
    expect(api.headers).toMatchObject({ authorization: 'Bearer api-token-1', 'idempotency-key': run.run_id });
    expect(webhook.headers).toMatchObject({ 'x-webhook-secret': SECRET, 'idempotency-key': run.run_id });
    const verifier = new Webhook(Buffer.from(SECRET).toString('base64'));
    expect(() => verifier.verify(JSON.stringify(webhook.body), webhook.headers)).not.toThrow();
    expect(webhook.body).toMatchObject({ version: 1, subscription_id: 'gate-1', success: true });
  });

  it.each([
    ['a rejected ticket', 'RITM11'],
    ['an injected query', 'RITM11^ORapproval=approved'],
    ['no ticket at all', undefined],
  ])('blocks every step for %s, and changes nothing', async (_name, number) => {
    await ticket('RITM11', 'rejected');
    const id = `blocked-${number?.length ?? 0}`;
    await subscription(id, number);
    await deliver(id);
    const run = await runOf(id);
    expect(run).toMatchObject({ status: 'failed', gate_passed: false, management_group: '' });
    expect(new Set(run.steps.map((step: { status: string }) => step.status))).toEqual(new Set(['blocked']));
    expect(run.lifecycle.map((one: { event: string }) => one.event).sort()).toEqual([
      'COMPLETED',
      'FAILED',
      'STARTED',
    ]);
    expect(world.cloud.store.get('published', run.run_id)).toBeUndefined();
    expect(notesOf('RITM11').work_notes).toEqual([]);
  });

  it('does not let a preflight with a good ticket open the gate for another run', async () => {
    await ticket('RITM12', 'approved');
    await subscription('concurrent-1');
    const preflights = Array.from({ length: 20 }, () =>
      world.gateway.request('POST', '/webhook/preflight', {
        subscription_id: 'concurrent-1',
        snow_ticket: 'RITM12',
      }),
    );
    await Promise.all([...preflights, deliver('concurrent-1')]);
    expect(await runOf('concurrent-1')).toMatchObject({ status: 'failed', gate_passed: false });
    expect(notesOf('RITM12').work_notes).toEqual([]);
  });

  it('never fails a run for a notification that cannot be told', async () => {
    await ticket('RITM13', 'approved');
    await subscription('deaf-1', 'RITM13');
    await world.cloud.control('faults', { method: 'POST', path: '/notices/webhook', status: 400 });
    await deliver('deaf-1');
    const run = await runOf('deaf-1');
    expect(run).toMatchObject({ status: 'succeeded', errors: [] });
    expect(run.steps.at(-1)).toMatchObject({
      name: 'NOTIFY_WEBHOOK',
      status: 'failed',
      error: expect.stringContaining('400'),
    });
  });
});
