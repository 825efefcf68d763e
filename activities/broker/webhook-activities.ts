import { purgeEvents } from '../../db/broker/webhook-messages.js';
import type { AttemptResult } from '../../domain/broker/webhook.js';
import type { AttemptInput, DeliverWebhookDeps } from './deliver-webhook.js';
import { createAttemptDelivery } from './deliver-webhook.js';

const PURGE_BATCH = 1_000;

export interface WebhookActivities {
  readonly attemptDelivery: (input: AttemptInput) => Promise<AttemptResult>;
  /** The first attempts of many messages at once; tells of those that it did not finish. */
  readonly attemptDeliveries: (
    messageIds: readonly string[],
  ) => Promise<readonly { readonly messageId: string; readonly result: AttemptResult }[]>;
  /** Forgets one batch of old events; false when none is left. */
  readonly purgeWebhookEvents: () => Promise<boolean>;
}

export const createWebhookActivities = (
  deps: DeliverWebhookDeps & { readonly retentionDays: number },
): WebhookActivities => {
  const attemptDelivery = createAttemptDelivery(deps);
  return {
    attemptDelivery,
    attemptDeliveries: async (messageIds) => {
      const results = await Promise.all(
        messageIds.map(async (messageId) => ({
          messageId,
          result: await attemptDelivery({ messageId, attempt: 1, firstAttempt: 1, hasSlot: false }),
        })),
      );
      return results.filter(({ result }) => result.kind !== 'finished');
    },
    purgeWebhookEvents: async () =>
      (await purgeEvents(deps.db, deps.retentionDays, PURGE_BATCH)) === PURGE_BATCH,
  };
};
