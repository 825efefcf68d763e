import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Webhook as StandardReceiver } from 'standardwebhooks';
import { createAttemptDelivery } from '../../../activities/broker/deliver-webhook.js';
import type { AttemptInput, DeliverWebhookDeps } from '../../../activities/broker/deliver-webhook.js';
import { newSigningSecret } from '../../../activities/crypto/hmac.js';
import { claimAttempt, findDelivery, listDeliveries } from '../../../db/broker/deliveries.js';
import { readTotals } from '../../../db/broker/metric-totals.js';
import { findWebhook } from '../../../db/broker/webhooks.js';
import { testDatabase } from '../../support/postgres.js';
import type { TestDatabase } from '../../support/postgres.js';
import { startWebhookSink } from '../../support/webhook-sink.js';
import type { SinkAnswer, WebhookSink } from '../../support/webhook-sink.js';
import { ann, testKeys, webhookWorld } from '../../support/webhooks.js';

describe('delivery of webhooks', () => {
  let database: TestDatabase;
  const sinks: WebhookSink[] = [];
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(async () => {
    for (const sink of sinks) await sink.close();
    await database.drop();
  });

  const setUp = async (answer: SinkAnswer | Promise<SinkAnswer>, over: Partial<DeliverWebhookDeps> = {}) => {
    const world = webhookWorld(database.db);
    const sink = await startWebhookSink(() => answer);
    sinks.push(sink);
    const attempt = createAttemptDelivery({ db: database.db, ...world, schedule: [5_000, 300_000], ...over });
    const run = (messageId: string, input: Partial<AttemptInput> = {}) =>
      attempt({ messageId, attempt: 1, firstAttempt: 1, hasSlot: false, ...input });
    const detail = async (messageId: string) =>
      (await findDelivery(database.db, (await hookOf(messageId))!, messageId))!;
    const publishTo = async ({ webhookId }: { webhookId: string }, event = {}): Promise<string> =>
      (await world.publish(event, webhookId))[0] ?? '';
    return { ...world, sink, run, detail, publishTo };
  };
  const hookOf = async (messageId: string): Promise<string | undefined> =>
    (await claimAttempt(database.db, { messageId, attempt: 99, deliveryId: messageId }, false))?.webhookId;

  it('sends the body with the signatures of the specification and of Standard Webhooks, and keeps the attempt', async () => {
    const { sink, hook, publishTo, run, detail } = await setUp({ status: 201, body: 'x'.repeat(5_000) });
    const secret = newSigningSecret();
    const { webhookId } = await hook(sink.url, { secret });
    const machineId = randomUUID();
    const messageId = await publishTo({ webhookId }, { machineId, data: { role: 'worker-app' } });
    expect(await run(messageId)).toEqual({ kind: 'finished', state: 'delivered' });

    const [request] = sink.requests;
    expect(JSON.parse(request!.body)).toEqual({
      event_type: 'machine.registered',
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      machine_id: machineId,
      data: { role: 'worker-app' },
    });
    expect(request!.headers).toMatchObject({
      'content-type': 'application/json',
      'x-webhook-event': 'machine.registered',
      'x-webhook-delivery': messageId,
      'x-webhook-signature': `sha256=${createHmac('sha256', secret).update(request!.body).digest('hex')}`,
    });
    new StandardReceiver(secret).verify(request!.body, request!.headers as Record<string, string>);
    expect(await detail(messageId)).toMatchObject({
      webhookId,
      attempt: 1,
      responseStatus: 201,
      responseBody: 'x'.repeat(4_096),
      payload: request!.body,
      error: null,
      state: 'delivered',
    });
    expect(await findWebhook(database.db, webhookId)).toMatchObject({ triggerCount: 1, failureCount: 0 });
  });

  it('never sends one attempt twice, and gives the same verdict when it is run again', async () => {
    let answerNow = (): void => undefined;
    const othersJudged = new Promise<void>((resolve) => (answerNow = resolve));
    const { sink, hook, publishTo, run } = await setUp(othersJudged.then(() => ({ status: 200 })));
    const messageId = await publishTo(await hook(sink.url));
    let judged = 0;
    const verdicts = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const verdict = await run(messageId);
        judged += 1;
        if (judged === 19) answerNow();
        return verdict;
      }),
    );
    expect(verdicts.map((v) => v.kind).sort()).toEqual(['finished', ...Array<string>(19).fill('wait')]);
    expect(await run(messageId)).toEqual({ kind: 'finished', state: 'delivered' });
    expect(sink.requests).toHaveLength(1);
  });

  it('counts an attempt that was cut short as a failure and goes on to the next', async () => {
    const { sink, hook, publishTo, run, detail } = await setUp({ status: 200 });
    const { webhookId } = await hook(sink.url);
    const messageId = await publishTo({ webhookId });
    await claimAttempt(database.db, { messageId, attempt: 1, deliveryId: messageId }, false); // and the process died here
    expect(await run(messageId)).toMatchObject({ kind: 'wait' });
    await database.db('webhook_deliveries').update({ delivered_at: new Date(Date.now() - 60_000) });
    expect(await run(messageId)).toMatchObject({ kind: 'retry' });
    expect(await detail(messageId)).toMatchObject({ error: 'interrupted', responseStatus: null });
    expect(await run(messageId, { attempt: 2 })).toEqual({ kind: 'finished', state: 'delivered' });
    expect(sink.requests.map((r) => r.headers['webhook-id'])).toEqual([messageId]);
    expect(sink.requests[0]!.headers['x-webhook-delivery']).not.toBe(messageId);
    expect(await listDeliveries(database.db, webhookId, {}, 10)).toHaveLength(2);
  });

  it('follows the schedule to its end', async () => {
    const { sink, hook, publishTo, run, detail } = await setUp({ status: 500, body: 'no' });
    const { webhookId } = await hook(sink.url);
    const messageId = await publishTo({ webhookId });
    const first = await run(messageId);
    const second = await run(messageId, { attempt: 2 });
    expect([first, second]).toMatchObject([{ kind: 'retry' }, { kind: 'retry' }]);
    if (first.kind !== 'retry' || second.kind !== 'retry') throw new Error('not retried');
    expect(first.delayMs / 5_000).toBeCloseTo(1, 0);
    expect(second.delayMs / 300_000).toBeCloseTo(1, 0);
    expect(await run(messageId, { attempt: 3 })).toEqual({ kind: 'finished', state: 'failed' });
    expect(await detail(messageId)).toMatchObject({ error: 'HTTP 500', responseBody: 'no', state: 'failed' });
    expect(await findWebhook(database.db, webhookId)).toMatchObject({
      triggerCount: 0,
      failureCount: 3,
      enabled: true,
    });
  });

  it('waits as long as Retry-After asks, up to an hour', async () => {
    const { sink, hook, publishTo, run } = await setUp({ status: 429, headers: { 'retry-after': '1200' } });
    const messageId = await publishTo(await hook(sink.url));
    expect(await run(messageId)).toEqual({ kind: 'retry', delayMs: 1_200_000 });
    const greedy = await setUp({ status: 503, headers: { 'retry-after': '999999' } });
    const other = await greedy.publishTo(await greedy.hook(greedy.sink.url));
    expect(await greedy.run(other)).toEqual({ kind: 'retry', delayMs: 3_600_000 });
  });

  it('switches an endpoint off at 410, tells the others, and cancels what still waits', async () => {
    const { sink, hook, publishTo, run, detail } = await setUp({ status: 410 });
    const { webhookId } = await hook(sink.url, { events: ['machine.revoked'] });
    const watcher = await hook(sink.url, { events: ['webhook.disabled'] });
    const messageId = await publishTo({ webhookId });
    const waiting = await publishTo({ webhookId });
    expect(await run(messageId)).toEqual({ kind: 'finished', state: 'failed' });
    expect(await findWebhook(database.db, webhookId)).toMatchObject({
      enabled: false,
      disabledReason: 'the endpoint answered 410 Gone',
    });
    expect(await run(waiting)).toEqual({ kind: 'finished', state: 'cancelled' });
    expect((await detail(messageId)).state).toBe('failed');
    const notices = await database
      .db('webhook_messages')
      .join('webhook_events', 'webhook_events.event_id', 'webhook_messages.event_id')
      .where({ webhook_id: watcher.webhookId })
      .pluck('payload');
    expect(
      notices.map((text: string) => (JSON.parse(text) as { data: { webhook_id: string } }).data.webhook_id),
    ).toEqual([webhookId]);
    expect(await publishTo({ webhookId })).toBe('');
  });

  it('switches an endpoint off after five days of nothing but failures, not before', async () => {
    const days = (n: number) => new Date(Date.UTC(2026, 0, 1 + n));
    let now = days(0);
    const { sink, hook, publishTo, run } = await setUp({ status: 500 }, { clock: { now: () => now } });
    const { webhookId } = await hook(sink.url);
    for (const day of [0, 1, 2, 3, 4, 5]) {
      expect((await findWebhook(database.db, webhookId))!.enabled).toBe(true);
      now = days(day);
      await run(await publishTo({ webhookId }));
      await database.db('webhooks').where({ webhook_id: webhookId }).update({ last_failure_at: now });
    }
    expect((await findWebhook(database.db, webhookId))!.enabled).toBe(false);
  });

  it('signs with the old and the new secret for 24 hours after a rotation, then with the new one', async () => {
    const { sink, hook, publishTo, run, webhooks } = await setUp({ status: 200 });
    const old = newSigningSecret();
    const { webhookId } = await hook(sink.url, { secret: old });
    const fresh = await webhooks.rotateSecret(ann, webhookId, 24);
    const send = async () => {
      await run(await publishTo({ webhookId }));
      const { body, headers } = sink.requests.at(-1)!;
      return { body, headers: headers as Record<string, string> };
    };
    const during = await send();
    for (const secret of [old, fresh]) new StandardReceiver(secret).verify(during.body, during.headers);
    await database
      .db('webhook_secrets')
      .whereNotNull('retires_at')
      .update({ retires_at: database.db.fn.now() });
    const after = await send();
    new StandardReceiver(fresh).verify(after.body, after.headers);
    expect(() => new StandardReceiver(old).verify(after.body, after.headers)).toThrow();
    expect(after.headers['x-webhook-signature-previous']).toBeUndefined();
  });

  it('does not send unsigned when the signing secret cannot be opened', async () => {
    const { sink, hook, publishTo, run, detail } = await setUp({ status: 200 }, { keys: testKeys() });
    const messageId = await publishTo(await hook(sink.url, { secret: 'known to another process' }));
    expect(await run(messageId)).toMatchObject({ kind: 'retry' });
    expect(sink.requests).toEqual([]);
    expect((await detail(messageId)).error).toContain('cannot be opened');
  });

  it('keeps to the rate limit of an endpoint, whichever worker sends', async () => {
    const { sink, hook, publishTo, run } = await setUp({ status: 200 });
    const limited = await hook(sink.url, { rateLimitPerMinute: 60 });
    const results = await Promise.all(Array.from({ length: 4 }, async () => run(await publishTo(limited))));
    expect(sink.requests).toHaveLength(1);
    const waits = results.flatMap((r) => (r.kind === 'wait' ? [r.delayMs] : [])).sort((a, b) => a - b);
    expect(waits.map((ms) => Math.round(ms / 1_000))).toEqual([1, 2, 3]);
  });

  it('counts attempts by event type and outcome in rows that every process sees', async () => {
    const totals = await readTotals(database.db, 'webhook_deliveries');
    const { rows } = await database.db.raw<{ rows: { label: string }[] }>(
      `select event_type || '/' || case when coalesce(response_status between 200 and 299, false) then 'success' else 'failure' end
         || '=' || count(*) as label from webhook_deliveries
       where response_status is not null or error is not null group by event_type, coalesce(response_status between 200 and 299, false)`,
    );
    expect(totals.map((t) => `${t.labels.join('/')}=${t.value}`).sort()).toEqual(
      rows.map((r) => r.label).sort(),
    );
  });
});
