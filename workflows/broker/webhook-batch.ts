import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { ParentClosePolicy, proxyLocalActivities, startChild } from '@temporalio/workflow';
import type { WebhookActivities } from '../../activities/broker/webhook-activities.js';
import { workflowIds } from '../ids.js';
import { deliveryAttempt } from '../options.js';
import { webhookDelivery } from './webhook-delivery.js';
import type { WebhookBatchInput } from './webhook-messages.js';

const { attemptDeliveries } = proxyLocalActivities<WebhookActivities>(deliveryAttempt);

/** Makes the first attempt of many messages at once; each that is not finished by it goes on as a delivery of its own. */
export const webhookBatch = async ({
  messageIds,
}: WebhookBatchInput): Promise<{ readonly goingOn: number }> => {
  const unfinished = await attemptDeliveries(messageIds);
  for (const { messageId, result } of unfinished) {
    try {
      await startChild(webhookDelivery, {
        workflowId: workflowIds.delivery(messageId),
        args: [{ messageId, firstAttempt: 1, firstResult: result }],
        parentClosePolicy: ParentClosePolicy.ABANDON,
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
      });
    } catch (error) {
      // Another batch with this message was started before its relay died.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
  return { goingOn: unfinished.length };
};
