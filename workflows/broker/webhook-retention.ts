import { proxyActivities } from '@temporalio/workflow';
import type { WebhookActivities } from '../../activities/broker/webhook-activities.js';
import { outsideCall } from '../options.js';

const { purgeWebhookEvents } = proxyActivities<WebhookActivities>(outsideCall);

/** Forgets old webhook events, batch by batch; run by a schedule. */
export const webhookRetention = async (): Promise<void> => {
  while (await purgeWebhookEvents());
};
