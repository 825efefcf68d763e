import type { Knex } from 'knex';
import { prepared } from '../connect.js';

/** Topic of the outbox rows that start, or wake, the delivery of a message; the key is the message id. */
export const DELIVERY_TOPIC = 'webhook.delivery';

export interface EventToPublish {
  readonly eventId: string;
  readonly eventType: string;
  /** The JSON that is sent. */
  readonly payload: string;
  /** Only for this endpoint, whatever it subscribes to (a test). */
  readonly webhookId?: string;
}

/** SQL that publishes an event; bindings by `publishBindings`. */
export const publishSql = 'publish_webhook_event(?, ?, ?, ?)';
export const publishBindings = (event: EventToPublish): (string | null)[] => [
  event.eventId,
  event.eventType,
  event.payload,
  event.webhookId ?? null,
];

/**
 * Fans an event out in the caller's transaction: one message and one outbox row an enabled subscriber. Nothing is
 * stored when nobody listens, or when the event was published before. Returns the ids of the messages.
 */
export const publishEvent = async (trx: Knex, event: EventToPublish): Promise<readonly string[]> => {
  const rows = await prepared<{ messageId: string }>(
    trx,
    'publish-webhook-event',
    `select message_id as "messageId" from ${publishSql} as message_id`,
    publishBindings(event) as Knex.RawBinding[],
  );
  return rows.map(({ messageId }) => messageId);
};

/** Which messages of an endpoint are sent again. */
export type Resend =
  | { readonly deliveryId: string }
  | { /** ISO 8601: those that failed and were made then or later. */ readonly failedSince: string };

/** Messages go back to `pending` with a fresh series of attempts. Returns how many. */
export const resendMessages = async (trx: Knex, webhookId: string, resend: Resend): Promise<number> => {
  const one = 'deliveryId' in resend;
  const rows = await prepared(
    trx,
    one ? 'resend-one' : 'resend-since',
    `with chosen as (
       update webhook_messages m set state = 'pending' where m.webhook_id = ? and ${
         one
           ? 'm.message_id = (select message_id from webhook_deliveries where delivery_id = ?)'
           : `m.state in ('failed', 'cancelled') and m.created_at >= ?`
       } returning m.message_id
     )
     insert into outbox (topic, key, payload)
     select ?, c.message_id, jsonb_build_object('firstAttempt', 1 + coalesce(
       (select max(attempt) from webhook_deliveries d where d.message_id = c.message_id), 0))
     from chosen c returning id`,
    [webhookId, one ? resend.deliveryId : resend.failedSince, DELIVERY_TOPIC],
  );
  return rows.length;
};

/** Forgets events, their messages and attempts that are older than `days`, up to `limit` events. Returns how many went. */
export const purgeEvents = async (db: Knex, days: number, limit: number): Promise<number> => {
  const rows = await prepared(
    db,
    'purge-webhook-events',
    `delete from webhook_events where event_id in (
       select event_id from webhook_events where created_at < now() - ? * interval '1 day' order by created_at limit ?
     ) returning event_id`,
    [days, limit],
  );
  return rows.length;
};
