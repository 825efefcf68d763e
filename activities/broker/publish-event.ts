import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import type { EventToPublish } from '../../db/broker/webhook-messages.js';
import { publishEvent } from '../../db/broker/webhook-messages.js';
import type { WebhookEvent } from '../../domain/broker/webhook.js';
import { webhookBody } from '../../domain/broker/webhook.js';

interface PublishOptions {
  readonly now: Date;
  /** Given, the same event published twice goes out once. */
  readonly eventId?: string;
  /** Only for this endpoint, whatever it subscribes to. */
  readonly webhookId?: string;
}

/** The event as it is stored and sent. */
export const toPublish = (
  event: WebhookEvent,
  { now, eventId = randomUUID(), webhookId }: PublishOptions,
): EventToPublish => ({
  eventId,
  eventType: event.eventType,
  payload: webhookBody(event, now.toISOString()),
  ...(webhookId === undefined ? {} : { webhookId }),
});

/**
 * Hands an event to the webhooks in the caller's transaction: what is committed is delivered at least once, what is
 * rolled back never. Returns the ids of the messages, one an endpoint.
 */
export const publishWebhookEvent = (
  trx: Knex,
  event: WebhookEvent,
  options: PublishOptions,
): Promise<readonly string[]> => publishEvent(trx, toPublish(event, options));
