import type { WebhookActivities } from '../../../activities/broker/webhook-activities.js';
import type { AttemptResult } from '../../../domain/broker/webhook.js';
import type { webhookBatch, webhookDelivery, webhookRetention } from '../../../workflows/broker/index.js';
import { redeliver } from '../../../workflows/broker/webhook-messages.js';
import { workflowIds } from '../../../workflows/ids.js';
import { queues } from '../../../workflows/queues.js';
import type { Scenario } from './scenario.js';

const MESSAGE = '2f0f4a1d-6f57-4b5b-9a59-6a0f3c9e1b77';
const delivered: AttemptResult = { kind: 'finished', state: 'delivered' };

const inTurn = <T>(answers: readonly [T, ...T[]]): (() => Promise<T>) => {
  let next = 0;
  return () => Promise.resolve(answers[next++] ?? answers[0]);
};

const delivery = (
  shape: string,
  answers: readonly [AttemptResult, ...AttemptResult[]],
  meanwhile: (handle: {
    signal: (name: typeof redeliver, ask: { firstAttempt: number }) => Promise<void>;
  }) => Promise<void> = () => Promise.resolve(),
): Scenario => ({
  name: `webhookDelivery.${shape}`,
  queue: queues.webhooks,
  activities: { attemptDelivery: inTurn(answers) } satisfies Partial<WebhookActivities>,
  play: async (client) => {
    const handle = await client.workflow.start<typeof webhookDelivery>('webhookDelivery', {
      workflowId: workflowIds.delivery(MESSAGE),
      taskQueue: queues.webhooks,
      args: [{ messageId: MESSAGE, firstAttempt: 1 }],
    });
    await meanwhile(handle);
    await handle.result();
    return handle.workflowId;
  },
});

const batch = (shape: string, goingOn: readonly string[]): Scenario => ({
  name: `webhookBatch.${shape}`,
  queue: queues.webhooks,
  activities: {
    attemptDeliveries: () =>
      Promise.resolve(goingOn.map((messageId) => ({ messageId, result: { kind: 'retry', delayMs: 50 } }))),
    attemptDelivery: inTurn([delivered]),
  } satisfies Partial<WebhookActivities>,
  play: async (client) => {
    const handle = await client.workflow.start<typeof webhookBatch>('webhookBatch', {
      workflowId: workflowIds.deliveryBatch('recorded'),
      taskQueue: queues.webhooks,
      args: [{ messageIds: [MESSAGE, 'another'] }],
    });
    await handle.result();
    for (const messageId of goingOn)
      await client.workflow.getHandle(workflowIds.delivery(messageId)).result();
    return handle.workflowId;
  },
});

const retention: Scenario = {
  name: 'webhookRetention.two-batches',
  queue: queues.webhooks,
  activities: { purgeWebhookEvents: inTurn([true, false]) } satisfies Partial<WebhookActivities>,
  play: async (client) => {
    const handle = await client.workflow.start<typeof webhookRetention>('webhookRetention', {
      workflowId: 'webhook-retention-recorded',
      taskQueue: queues.webhooks,
    });
    await handle.result();
    return handle.workflowId;
  },
};

export const webhookScenarios: readonly Scenario[] = [
  delivery('delivered', [delivered]),
  delivery('retried', [{ kind: 'retry', delayMs: 50 }, { kind: 'retry', delayMs: 50 }, delivered]),
  delivery('waited-for-a-slot', [{ kind: 'wait', delayMs: 50 }, delivered]),
  delivery('given-up', [{ kind: 'finished', state: 'failed' }]),
  delivery('redelivered', [{ kind: 'retry', delayMs: 60_000 }, delivered], (handle) =>
    handle.signal(redeliver, { firstAttempt: 2 }),
  ),
  batch('all-delivered', []),
  batch('one-goes-on', ['8d3c7a55-0c1e-4a4e-8d52-5f0f3f6a9c21']),
  retention,
];
