import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { SealedValue } from './sealed.js';

/** One attempt. Times are ISO 8601 UTC; status, error and duration are null while it is under way. */
export interface DeliveryRecord {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly webhookId: string;
  readonly eventType: string;
  readonly attempt: number;
  readonly responseStatus: number | null;
  readonly error: string | null;
  readonly deliveredAt: string;
  readonly durationMs: number | null;
}

export interface DeliveryDetail extends DeliveryRecord {
  readonly payload: string;
  readonly responseBody: string | null;
  /** State of the whole message: `pending`, `delivered`, `failed` or `cancelled`. */
  readonly state: string;
}

const columns = {
  deliveryId: 'd.delivery_id',
  messageId: 'd.message_id',
  webhookId: 'd.webhook_id',
  eventType: 'd.event_type',
  attempt: 'd.attempt',
  responseStatus: 'd.response_status',
  error: 'd.error',
  deliveredAt: 'd.delivered_at',
  durationMs: 'd.duration_ms',
} as const satisfies Record<keyof DeliveryRecord, string>;

export interface DeliveryFilter {
  readonly outcome?: 'delivered' | 'failed' | undefined;
  readonly eventType?: string | undefined;
  /** ISO 8601, inclusive. */
  readonly since?: string | undefined;
  /** ISO 8601, exclusive. */
  readonly until?: string | undefined;
}

/** The newest `limit` attempts of an endpoint, newest first. */
export const listDeliveries = async (
  db: Knex,
  webhookId: string,
  filter: DeliveryFilter,
  limit: number,
): Promise<readonly DeliveryRecord[]> => {
  const query = db('webhook_deliveries as d').select(columns).where('d.webhook_id', webhookId);
  if (filter.outcome === 'delivered') void query.whereBetween('d.response_status', [200, 299]);
  if (filter.outcome === 'failed') void query.whereNotNull('d.error');
  if (filter.eventType !== undefined) void query.where('d.event_type', filter.eventType);
  if (filter.since !== undefined) void query.where('d.delivered_at', '>=', filter.since);
  if (filter.until !== undefined) void query.where('d.delivered_at', '<', filter.until);
  return (await query
    .orderBy('d.delivered_at', 'desc')
    .orderBy('d.delivery_id')
    .limit(limit)) as DeliveryRecord[];
};

export const findDelivery = async (
  db: Knex,
  webhookId: string,
  deliveryId: string,
): Promise<DeliveryDetail | undefined> =>
  (await db('webhook_deliveries as d')
    .join('webhook_messages as m', 'm.message_id', 'd.message_id')
    .join('webhook_events as e', 'e.event_id', 'm.event_id')
    .first({ ...columns, payload: 'e.payload', responseBody: 'd.response_body', state: 'm.state' })
    .where({ 'd.webhook_id': webhookId, 'd.delivery_id': deliveryId })) as DeliveryDetail | undefined;

export interface AttemptKey {
  readonly deliveryId: string;
  readonly messageId: string;
  readonly attempt: number;
}

/** What an attempt needs to be sent; what an earlier run of the same attempt left is in `earlier`. */
export interface ClaimedAttempt {
  readonly webhookId: string;
  readonly url: string;
  readonly enabled: boolean;
  readonly rateLimitPerMinute: number;
  readonly failingSince: string | null;
  readonly lastFailureAt: string | null;
  readonly eventType: string;
  readonly payload: string;
  /** Active signing secrets, newest first. */
  readonly secrets: readonly (SealedValue & { readonly secretId: string })[];
  /** True when this call wrote the attempt's row, and so may send. */
  readonly claimed: boolean;
  readonly earlier: {
    readonly status: number | null;
    readonly error: string | null;
    readonly ageMs: number;
  } | null;
}

interface ClaimRow extends Omit<ClaimedAttempt, 'secrets'> {
  readonly secrets: readonly Readonly<
    Record<'secretId' | 'keyId' | 'nonce' | 'tag' | 'ciphertext', string>
  >[];
}

/**
 * Writes the row of an attempt before it is sent, at most once a (message, attempt). An endpoint with a rate limit is
 * claimed only with `hasSlot`. Undefined when the message is gone.
 */
export const claimAttempt = async (
  db: Knex,
  key: AttemptKey,
  hasSlot: boolean,
): Promise<ClaimedAttempt | undefined> => {
  const [row] = await prepared<ClaimRow>(
    db,
    'claim-webhook-attempt',
    `with target as (
       select m.message_id, w.webhook_id, w.url, w.enabled, w.rate_limit_per_minute, w.failing_since,
         w.last_failure_at, e.event_type, e.payload
       from webhook_messages m join webhooks w using (webhook_id) join webhook_events e using (event_id)
       where m.message_id = ?
     ), claimed as (
       insert into webhook_deliveries (delivery_id, message_id, webhook_id, event_type, attempt)
       select ?, message_id, webhook_id, event_type, ? from target
       where enabled and (rate_limit_per_minute = 0 or ?)
       on conflict do nothing returning delivery_id
     )
     select t.webhook_id as "webhookId", t.url, t.enabled, t.rate_limit_per_minute as "rateLimitPerMinute",
       t.failing_since as "failingSince", t.last_failure_at as "lastFailureAt", t.event_type as "eventType", t.payload,
       exists (select 1 from claimed) as claimed,
       (select json_build_object('status', d.response_status, 'error', d.error,
           'ageMs', floor(extract(epoch from now() - d.delivered_at) * 1000)) from webhook_deliveries d
        where d.message_id = t.message_id and d.attempt = ?) as earlier,
       coalesce((select json_agg(json_build_object('secretId', s.webhook_secret_id, 'keyId', s.encryption_key_id,
           'nonce', encode(s.nonce, 'hex'), 'tag', encode(s.tag, 'hex'),
           'ciphertext', encode(s.encrypted_value, 'hex')) order by s.created_at desc)
         from webhook_secrets s
         where s.webhook_id = t.webhook_id and (s.retires_at is null or s.retires_at > now())), '[]') as secrets
     from target t`,
    [key.messageId, key.deliveryId, key.attempt, hasSlot, key.attempt],
  );
  return row === undefined ? undefined : { ...row, secrets: row.secrets.map(toSecret) };
};

const toSecret = (row: ClaimRow['secrets'][number]): ClaimedAttempt['secrets'][number] => ({
  secretId: row.secretId,
  keyId: row.keyId,
  nonce: Buffer.from(row.nonce, 'hex'),
  tag: Buffer.from(row.tag, 'hex'),
  ciphertext: Buffer.from(row.ciphertext, 'hex'),
});

/** Reserves the endpoint's next free slot; returns the milliseconds until it. */
export const takeRateSlot = async (db: Knex, webhookId: string): Promise<number> => {
  const [row] = await prepared<{ waitMs: string }>(
    db,
    'take-webhook-slot',
    `update webhooks set next_slot_at =
       greatest(next_slot_at, now()) + interval '1 minute' / greatest(rate_limit_per_minute, 1)
     where webhook_id = ?
     returning extract(epoch from next_slot_at - interval '1 minute' / greatest(rate_limit_per_minute, 1) - now())
       * 1000 as "waitMs"`,
    [webhookId],
  );
  return Math.max(0, Math.ceil(Number(row?.waitMs ?? 0)));
};

export interface AttemptOutcome {
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly succeeded: boolean;
  readonly responseStatus: number | null;
  readonly responseBody: string | null;
  readonly error: string | null;
  readonly durationMs: number | null;
  /** Start of the present run of failures; null after a success. */
  readonly failingSince: Date | null;
  readonly messageState: 'pending' | 'delivered' | 'failed' | 'cancelled';
}

/** Writes an attempt's outcome, its endpoint's counters and the metric, once; false when it was written before. */
export const recordAttempt = async (db: Knex, outcome: AttemptOutcome): Promise<boolean> => {
  const status = outcome.succeeded ? 'success' : 'failure';
  const rows = await prepared(
    db,
    'record-webhook-attempt',
    `with done as (
       update webhook_deliveries set response_status = ?, response_body = ?, error = ?, duration_ms = ?
       where delivery_id = ? and response_status is null and error is null
       returning delivery_id, message_id, event_type
     ), message as (
       update webhook_messages m set state = ? from done where m.message_id = done.message_id
     ), hook as (
       update webhooks w set
         trigger_count = trigger_count + ?::integer, failure_count = failure_count + 1 - ?::integer,
         last_triggered_at = case when ?::integer = 1 then now() else last_triggered_at end,
         failing_since = ?::timestamptz, last_failure_at = case when ?::integer = 1 then null else now() end
       from done where w.webhook_id = ?
     ), total as (
       insert into metric_totals (metric, labels, value) select 'webhook_deliveries', array[event_type, ?], 1 from done
       on conflict (metric, labels) do update set value = metric_totals.value + 1
     )
     select delivery_id from done`,
    [
      ...[
        outcome.responseStatus,
        outcome.responseBody,
        outcome.error,
        outcome.durationMs,
        outcome.deliveryId,
      ],
      outcome.messageState,
      ...Array.from({ length: 3 }, () => Number(outcome.succeeded)),
      ...[outcome.failingSince, Number(outcome.succeeded), outcome.webhookId, status],
    ] as Knex.RawBinding[],
  );
  return rows.length > 0;
};

/** A message that will not be tried any more, without an attempt. */
export const cancelMessage = (db: Knex, messageId: string): PromiseLike<number> =>
  db('webhook_messages').where({ message_id: messageId, state: 'pending' }).update({ state: 'cancelled' });
