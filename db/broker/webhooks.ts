import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { SealedValue } from './sealed.js';
import { toSealedRow } from './sealed.js';

/** An endpoint as operators see it. Times are ISO 8601 UTC. */
export interface WebhookRecord {
  readonly webhookId: string;
  readonly url: string;
  /** Comma-separated. */
  readonly events: string;
  readonly enabled: boolean;
  readonly disabledReason: string | null;
  /** 0 = no limit. */
  readonly rateLimitPerMinute: number;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly lastTriggeredAt: string | null;
  readonly triggerCount: number;
  readonly failureCount: number;
}

const columns = {
  webhookId: 'webhook_id',
  url: 'url',
  events: 'events',
  enabled: 'enabled',
  disabledReason: 'disabled_reason',
  rateLimitPerMinute: 'rate_limit_per_minute',
  createdBy: 'created_by',
  createdAt: 'created_at',
  lastTriggeredAt: 'last_triggered_at',
  triggerCount: 'trigger_count',
  failureCount: 'failure_count',
} as const satisfies Record<keyof WebhookRecord, string>;

export type NewWebhook = Pick<
  WebhookRecord,
  'webhookId' | 'url' | 'events' | 'rateLimitPerMinute' | 'createdBy'
>;
export type WebhookChange = Partial<Pick<WebhookRecord, 'url' | 'events' | 'enabled' | 'rateLimitPerMinute'>>;

export const insertWebhook = async (trx: Knex, webhook: NewWebhook): Promise<WebhookRecord> => {
  const rows: unknown[] = await trx('webhooks')
    .insert({
      webhook_id: webhook.webhookId,
      url: webhook.url,
      events: webhook.events,
      rate_limit_per_minute: webhook.rateLimitPerMinute,
      created_by: webhook.createdBy,
    })
    .returning(aliased());
  return rows[0] as WebhookRecord;
};

export const findWebhook = async (db: Knex, webhookId: string): Promise<WebhookRecord | undefined> =>
  (await db('webhooks').first(columns).where({ webhook_id: webhookId })) as WebhookRecord | undefined;

export const listWebhooks = async (db: Knex): Promise<readonly WebhookRecord[]> =>
  (await db('webhooks')
    .select(columns)
    .orderBy('created_at', 'desc')
    .orderBy('webhook_id')) as WebhookRecord[];

/** Switching an endpoint on forgets why it was off, and its failures. */
export const updateWebhook = async (
  trx: Knex,
  webhookId: string,
  change: WebhookChange,
): Promise<WebhookRecord | undefined> => {
  const rows: unknown[] = await trx('webhooks')
    .where({ webhook_id: webhookId })
    .update({
      webhook_id: webhookId,
      ...(change.url === undefined ? {} : { url: change.url }),
      ...(change.events === undefined ? {} : { events: change.events }),
      ...(change.rateLimitPerMinute === undefined
        ? {}
        : { rate_limit_per_minute: change.rateLimitPerMinute }),
      ...(change.enabled === undefined ? {} : { enabled: change.enabled }),
      ...(change.enabled === true
        ? { disabled_reason: null, failing_since: null, last_failure_at: null }
        : {}),
    })
    .returning(aliased());
  return rows[0] as WebhookRecord | undefined;
};

export const deleteWebhook = (trx: Knex, webhookId: string): PromiseLike<number> =>
  trx('webhooks').where({ webhook_id: webhookId }).delete();

/** Switches an endpoint off; false when it was off (or gone) already. */
export const disableWebhook = async (trx: Knex, webhookId: string, reason: string): Promise<boolean> =>
  (await trx('webhooks')
    .where({ webhook_id: webhookId, enabled: true })
    .update({ enabled: false, disabled_reason: reason })) > 0;

/** Takes the right to send a test event: one per `intervalMs`. */
export const takeTestSlot = async (trx: Knex, webhookId: string, intervalMs: number): Promise<boolean> => {
  const rows = await prepared(
    trx,
    'take-test-slot',
    `update webhooks set last_test_at = now() where webhook_id = ?
       and (last_test_at is null or last_test_at <= now() - ? * interval '1 millisecond') returning webhook_id`,
    [webhookId, intervalMs],
  );
  return rows.length > 0;
};

/** New signing secret; the ones before it stay active until `overlapMs` from now. */
export const rotateWebhookSecret = async (
  trx: Knex,
  webhookId: string,
  next: { readonly secretId: string; readonly sealed: SealedValue } | undefined,
  overlapMs: number,
): Promise<void> => {
  await trx('webhook_secrets')
    .where({ webhook_id: webhookId })
    .whereNull('retires_at')
    .update({ retires_at: trx.raw(`now() + ? * interval '1 millisecond'`, [overlapMs]) });
  if (next === undefined) return;
  await trx('webhook_secrets').insert({
    webhook_secret_id: next.secretId,
    webhook_id: webhookId,
    ...toSealedRow(next.sealed),
  });
};

const aliased = () => Object.entries(columns).map(([name, column]) => `${column} as ${name}`);
