import { condition, proxyLocalActivities, setHandler, sleep } from '@temporalio/workflow';
import type { WebhookActivities } from '../../activities/broker/webhook-activities.js';
import { deliveryAttempt } from '../options.js';
import type { WebhookDeliveryInput } from './webhook-messages.js';
import { redeliver } from './webhook-messages.js';

const { attemptDelivery } = proxyLocalActivities<WebhookActivities>(deliveryAttempt);

export type DeliveryEnd = 'delivered' | 'failed' | 'cancelled';

/** Sends one event to one endpoint: attempts on the retry schedule until one succeeds, none is left or nobody wants it. */
export const webhookDelivery = async (input: WebhookDeliveryInput): Promise<DeliveryEnd> => {
  const { messageId } = input;
  let { firstAttempt } = input;
  let attempt = firstAttempt;
  let hasSlot = false;
  let redeliveries = 0;
  let begun = 0;
  const wanted = (): boolean => redeliveries > begun;
  setHandler(redeliver, (request) => {
    if (request.firstAttempt > firstAttempt) redeliveries += 1;
  });

  for (;;) {
    const result =
      attempt === input.firstAttempt && input.firstResult !== undefined && !hasSlot
        ? input.firstResult
        : await attemptDelivery({ messageId, attempt, firstAttempt, hasSlot });
    if (result.kind === 'wait') {
      await sleep(result.delayMs);
      hasSlot = true;
      continue;
    }
    if (result.kind === 'finished' && (result.state === 'delivered' || !wanted())) return result.state;
    if (result.kind === 'retry') await condition(wanted, result.delayMs);
    attempt += 1;
    hasSlot = false;
    if (wanted()) firstAttempt = attempt;
    begun = redeliveries;
  }
};
