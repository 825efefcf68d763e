import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { webhookDelivery } from '../workflows/broker/webhook-delivery.js';
import type { WebhookDeliveryInput } from '../workflows/broker/webhook-messages.js';
import { redeliver } from '../workflows/broker/webhook-messages.js';
import { workflowIds } from '../workflows/ids.js';
import { queues } from '../workflows/queues.js';
import type { OutboxSender } from './relay.js';

/** Starts the delivery of a message; a redelivery joins the running one or begins a new series. */
export const createDeliveryStarter =
  (client: Client): OutboxSender =>
  async ({ key, payload }) => {
    const firstAttempt = Number(payload['firstAttempt']);
    const input: WebhookDeliveryInput = { messageId: key, firstAttempt };
    const options = { workflowId: workflowIds.delivery(key), taskQueue: queues.webhooks } as const;
    if (firstAttempt > 1) {
      await client.workflow.signalWithStart<typeof webhookDelivery, [{ readonly firstAttempt: number }]>(
        'webhookDelivery',
        { ...options, args: [input], signal: redeliver, signalArgs: [{ firstAttempt }] },
      );
      return;
    }
    try {
      await client.workflow.start<typeof webhookDelivery>('webhookDelivery', {
        ...options,
        args: [input],
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
      });
    } catch (error) {
      // The relay died after this start and before it could tell: the delivery is on its way, or done.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  };
