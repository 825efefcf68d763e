import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { OutboxRow } from '../db/outbox.js';
import type { webhookBatch } from '../workflows/broker/webhook-batch.js';
import type { webhookDelivery } from '../workflows/broker/webhook-delivery.js';
import type { WebhookDeliveryInput } from '../workflows/broker/webhook-messages.js';
import { redeliver } from '../workflows/broker/webhook-messages.js';
import { workflowIds } from '../workflows/ids.js';
import { queues } from '../workflows/queues.js';
import type { OutboxSender } from './relay.js';

/** From so many messages at once, one workflow makes all first attempts: a burst costs a tenth (docs/decisions). */
const BATCH_FROM = 10;

/** Starts the deliveries of messages: one workflow each, or one for all first attempts of a burst. */
export const createDeliveryStarter = (client: Client): OutboxSender => {
  return (rows) => {
    const fresh = rows.filter((row) => firstAttemptOf(row) === 1);
    const batch = fresh.length < BATCH_FROM ? undefined : startBatch(client, fresh);
    return rows.map((row) => {
      if (firstAttemptOf(row) > 1) return redeliverMessage(client, inputOf(row));
      return batch ?? startDelivery(client, inputOf(row));
    });
  };
};

const firstAttemptOf = ({ payload }: OutboxRow): number => Number(payload['firstAttempt']);
const inputOf = (row: OutboxRow): WebhookDeliveryInput => ({
  messageId: row.key,
  firstAttempt: firstAttemptOf(row),
});

/** A relay that died after this leaves the rows to another: attempts are claimed, so a second batch finds them made. */
const startBatch = async (client: Client, rows: readonly OutboxRow[]): Promise<void> => {
  await client.workflow.start<typeof webhookBatch>('webhookBatch', {
    workflowId: workflowIds.deliveryBatch(randomUUID()),
    taskQueue: queues.webhooks,
    args: [{ messageIds: rows.map(({ key }) => key) }],
  });
};

const startDelivery = async (client: Client, input: WebhookDeliveryInput): Promise<void> => {
  try {
    await client.workflow.start<typeof webhookDelivery>('webhookDelivery', {
      workflowId: workflowIds.delivery(input.messageId),
      taskQueue: queues.webhooks,
      args: [input],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
    });
  } catch (error) {
    // The relay died after this start and before it could tell: the delivery is on its way, or done.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
};

/** Joins the running delivery, or begins a new series. */
const redeliverMessage = async (client: Client, input: WebhookDeliveryInput): Promise<void> => {
  await client.workflow.signalWithStart<typeof webhookDelivery, [{ readonly firstAttempt: number }]>(
    'webhookDelivery',
    {
      workflowId: workflowIds.delivery(input.messageId),
      taskQueue: queues.webhooks,
      args: [input],
      signal: redeliver,
      signalArgs: [{ firstAttempt: input.firstAttempt }],
    },
  );
};
