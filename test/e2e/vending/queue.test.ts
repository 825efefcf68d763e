import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { encodeJob } from '../../../domain/vending/job.js';
import { testQueues } from '../../support/azurite.js';
import { createdEvent, vendingGateway, vendingWorld } from '../../support/vending.js';
import type { VendingWorld } from '../../support/vending.js';
import { eventuallyHolds } from '../../support/eventually.js';

const jobOf = (jobId: string, subscriptionId: string) =>
  encodeJob({ jobId, subscriptionId, subscriptionName: 's', managementGroupId: '', attempt: 1 });

describe('strategy queue with a consumer', () => {
  let world: VendingWorld;
  let storage: Awaited<ReturnType<typeof testQueues>>;
  const call = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    world.gateway.request(method, path, body, headers);
  const subscription = (id: string) =>
    world.cloud.control('subscriptions', { subscription_id: id, announce: false });
  const statusOf = async (id: string) =>
    (await call('GET', `/runs/${id}`)).body?.status as string | undefined;
  const rolesOf = (id: string) =>
    world.cloud.store.all<{ id: string }>('roleAssignments').filter((made) => made.id.includes(`/${id}/`));
  const process = (message: string, deliveryCount = 1, secret = 'worker-1') =>
    call(
      'POST',
      '/worker/process-job',
      { message, delivery_count: deliveryCount },
      { 'x-worker-secret': secret },
    );

  beforeAll(async () => {
    storage = await testQueues();
    world = await vendingWorld({
      settings: {
        VENDING_RETRY_STRATEGY: 'queue',
        VENDING_STORAGE_CONNECTION_STRING: storage.connectionString,
        VENDING_QUEUE_CONSUMER: 'true',
        VENDING_QUEUE_VISIBILITY_TIMEOUT: '2',
        VENDING_QUEUE_MAX_DELIVERY_COUNT: '2',
        VENDING_WORKER_SECRET: 'worker-1',
      },
    });
  }, 120_000);
  afterAll(async () => {
    await world.close();
    await storage.stop();
  });

  it('queues before the first event, processes, and removes the message', async () => {
    await subscription('queued-1');
    expect((await call('POST', '/webhook/', [createdEvent('queued-1')])).status).toBe(200);
    await eventuallyHolds(async () => expect(await statusOf('queued-1')).toBe('succeeded'));
    await eventuallyHolds(async () =>
      expect((await call('GET', '/jobs/stats')).body.provisioning).toEqual({
        queue: 'provisioning-jobs',
        approximate_message_count: 0,
      }),
    );
    expect(rolesOf('queued-1')).toHaveLength(4);
  });

  it('takes a job by hand with its own id or a new one', async () => {
    await subscription('hand-1');
    const enqueue = (body: object) =>
      call('POST', '/jobs/enqueue', { subscription_id: 'hand-1', subscription_name: 'n', ...body });
    const first = await enqueue({ job_id: 'job-by-hand' });
    expect(first).toMatchObject({
      status: 202,
      body: { job_id: 'job-by-hand', queue: 'provisioning-jobs', message_id: expect.any(String) },
    });
    expect((await enqueue({})).body.job_id).toMatch(/^[0-9a-f-]{36}$/);
    await eventuallyHolds(async () => expect(await statusOf('hand-1')).toBe('succeeded'));
    expect((await enqueue({ subscription_name: undefined })).status).toBe(422);
  });

  it('gives up a job that fails too often, once, and shows it in the dead-letter queue', async () => {
    await subscription('poison-1');
    await world.cloud.control('faults', {
      method: 'POST',
      path: '/sync/foundation?subscription_id=poison-1',
      times: 2,
      status: 400,
    });
    await call('POST', '/jobs/enqueue', {
      subscription_id: 'poison-1',
      subscription_name: 'p',
      job_id: 'poison-job',
    });
    const found = async () => (await call('GET', '/jobs/poison-job')).body;
    await eventuallyHolds(
      async () => expect(await found()).toMatchObject({ found: true, queue: 'provisioning-jobs-deadletter' }),
      40_000,
    );
    expect((await call('GET', '/runs/poison-1')).body.earlier).toHaveLength(1);
    await Promise.all([1, 2, 3].map(() => process(jobOf('poison-job', 'poison-1'), 3)));
    const { body } = await call('GET', '/jobs/dlq?count=32');
    expect(body.messages.filter((job: { job_id: string }) => job.job_id === 'poison-job')).toHaveLength(1);
    expect((await call('DELETE', '/jobs/dlq')).body).toEqual({
      queue: 'provisioning-jobs-deadletter',
      deleted: 1,
    });
    expect((await found()).found).toBe(false);
  }, 60_000);

  it('processes a message for an outside reader, the same job once', async () => {
    await subscription('outside-1');
    const message = jobOf('outside-job', 'outside-1');
    const answers = await Promise.all([process(message), process(message), process(message, 2)]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 200, body: { status: 'ok', subscription_id: 'outside-1' } });
    }
    expect((await call('GET', '/runs/outside-1')).body.earlier).toEqual([]);
    expect(rolesOf('outside-1')).toHaveLength(4);
  });

  it('says 401, 422 and 500 as specified', async () => {
    expect(await process(jobOf('j', 's'), 1, 'wrong')).toMatchObject({
      status: 401,
      body: { detail: 'Invalid worker secret' },
    });
    for (const message of ['', '%%%', btoa('not json'), btoa('{"no":"id"}'), btoa('[]')]) {
      expect((await process(message)).status).toBe(422);
    }
    await subscription('fails-1');
    await world.cloud.control('faults', { method: 'POST', path: '/sync/foundation', status: 400 });
    expect(await process(jobOf('fails-job', 'fails-1'))).toMatchObject({
      status: 500,
      body: { detail: expect.stringContaining('Provisioning failed') },
    });
  });

  it.each(['0', '33', 'x', '-1', '1.5'])('refuses to peek %s messages', async (count) => {
    expect((await call('GET', `/jobs/list?count=${count}`)).status).toBe(422);
  });

  it('answers 503 while storage is away, tells it in the statistics, and keeps answering', async () => {
    const gateway = await vendingGateway(world.database, {
      ...world.settings,
      VENDING_STORAGE_CONNECTION_STRING: storage.connectionString.replace(/:\d+\//, ':9/'),
    });
    const answer = await gateway.request('POST', '/webhook/', [createdEvent('nowhere-1')]);
    expect(answer.status).toBe(503);
    expect((await gateway.request('GET', '/health')).status).toBe(200);
    expect((await gateway.request('GET', '/jobs/stats')).body.provisioning).toMatchObject({
      error: expect.any(String),
    });
    await gateway.close();
  });
});
