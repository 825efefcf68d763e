import { purgeEvents } from '../../db/broker/webhook-messages.js';
import type { AttemptInput, AttemptResult, DeliverWebhookDeps } from './deliver-webhook.js';
import { createAttemptDelivery } from './deliver-webhook.js';

const PURGE_BATCH = 1_000;

export interface WebhookActivities {
  readonly attemptDelivery: (input: AttemptInput) => Promise<AttemptResult>;
  /** Forgets one batch of old events; false when none is left. */
  readonly purgeWebhookEvents: () => Promise<boolean>;
}

export const createWebhookActivities = (
  deps: DeliverWebhookDeps & { readonly retentionDays: number },
): WebhookActivities => ({
  attemptDelivery: createAttemptDelivery(deps),
  purgeWebhookEvents: async () =>
    (await purgeEvents(deps.db, deps.retentionDays, PURGE_BATCH)) === PURGE_BATCH,
});
