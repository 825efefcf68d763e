import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { resendMessages } from '../../db/broker/webhook-messages.js';
import type { WebhookRecord } from '../../db/broker/webhooks.js';
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  rotateWebhookSecret,
  takeTestSlot,
  updateWebhook,
} from '../../db/broker/webhooks.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { WebhookEventType } from '../../domain/broker/webhook.js';
import { isStandardSecret, standardSecretBase64 } from '../../domain/broker/webhook.js';
import type { Clock } from '../../domain/clock.js';
import { AppError, invalidField } from '../../domain/errors.js';
import type { Outbound } from '../adapters/http.js';
import { newSigningSecret } from '../crypto/hmac.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { logAct } from './act-log.js';
import { publishWebhookEvent } from './publish-event.js';
import { webhookSecretPlace } from './secret-sealing.js';

export interface WebhookDeps {
  readonly db: Knex;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly outbound: Pick<Outbound, 'check'>;
  readonly defaultRateLimitPerMinute: number;
}

export interface WebhookInput {
  readonly url: string;
  readonly events: readonly WebhookEventType[];
  readonly secret?: string | undefined;
  readonly rateLimitPerMinute?: number | undefined;
}

/** Absent fields stay as they are; an empty secret removes the signing secret at once. */
export type WebhookPatch = { readonly [K in keyof WebhookInput]?: WebhookInput[K] | undefined } & {
  readonly enabled?: boolean | undefined;
};

export interface Webhooks {
  readonly create: (actor: Actor, input: WebhookInput) => Promise<WebhookRecord>;
  readonly update: (actor: Actor, webhookId: string, patch: WebhookPatch) => Promise<WebhookRecord>;
  /** A fresh secret, shown this once; the one before it signs too for `overlapHours`. */
  readonly rotateSecret: (actor: Actor, webhookId: string, overlapHours: number) => Promise<string>;
  readonly remove: (actor: Actor, webhookId: string) => Promise<void>;
  /** Sends `webhook.test` to this endpoint whatever it subscribes to; returns the id of the first attempt. */
  readonly test: (webhookId: string) => Promise<string>;
  readonly redeliver: (webhookId: string, deliveryId: string) => Promise<void>;
  /** Sends again what failed since then; returns how many messages. */
  readonly recover: (webhookId: string, since: string) => Promise<number>;
}

const HOUR_MS = 3_600_000;
const ROTATION_OVERLAP_MS = 24 * HOUR_MS;
const TEST_INTERVAL_MS = 1_000;

export const webhookNotFound = (webhookId: string): AppError =>
  new AppError('not_found', `Webhook ${webhookId} not found`);

export const createWebhooks = (deps: WebhookDeps): Webhooks => {
  const { db, clock, outbound } = deps;
  return {
    create: async (actor, input) => {
      await checkUrl(outbound, input.url);
      checkSecret(input.secret);
      const webhookId = randomUUID();
      return db.transaction(async (trx) => {
        const webhook = await insertWebhook(trx, {
          webhookId,
          url: input.url,
          events: input.events.join(','),
          rateLimitPerMinute: input.rateLimitPerMinute ?? deps.defaultRateLimitPerMinute,
          createdBy: actor.operatorCn,
        });
        if (input.secret) await setSecret(trx, deps.keys, webhookId, input.secret, 0);
        await logAct(trx, actor, 'webhook_create', `webhook=${webhookId} url=${hostOf(input.url)}`);
        return webhook;
      });
    },
    update: async (actor, webhookId, patch) => {
      if (patch.url !== undefined) await checkUrl(outbound, patch.url);
      checkSecret(patch.secret);
      return db.transaction(async (trx) => {
        const webhook = await updateWebhook(trx, webhookId, {
          ...(patch.url === undefined ? {} : { url: patch.url }),
          ...(patch.events === undefined ? {} : { events: patch.events.join(',') }),
          ...(patch.enabled === undefined ? {} : { enabled: patch.enabled }),
          ...(patch.rateLimitPerMinute === undefined ? {} : { rateLimitPerMinute: patch.rateLimitPerMinute }),
        });
        if (webhook === undefined) throw webhookNotFound(webhookId);
        if (patch.secret === '') await rotateWebhookSecret(trx, webhookId, undefined, 0);
        else if (patch.secret !== undefined)
          await setSecret(trx, deps.keys, webhookId, patch.secret, ROTATION_OVERLAP_MS);
        await logAct(trx, actor, 'webhook_update', `webhook=${webhookId} ${changesOf(patch)}`);
        return webhook;
      });
    },
    rotateSecret: (actor, webhookId, overlapHours) =>
      db.transaction(async (trx) => {
        if ((await findWebhook(trx, webhookId)) === undefined) throw webhookNotFound(webhookId);
        const secret = newSigningSecret();
        await setSecret(trx, deps.keys, webhookId, secret, overlapHours * HOUR_MS);
        await logAct(
          trx,
          actor,
          'webhook_update',
          `webhook=${webhookId} changed=secret overlap=${overlapHours}h`,
        );
        return secret;
      }),
    remove: (actor, webhookId) =>
      db.transaction(async (trx) => {
        if ((await deleteWebhook(trx, webhookId)) === 0) throw webhookNotFound(webhookId);
        await logAct(trx, actor, 'webhook_delete', `webhook=${webhookId}`);
      }),
    test: (webhookId) =>
      db.transaction(async (trx) => {
        await requireEnabled(trx, webhookId);
        if (!(await takeTestSlot(trx, webhookId, TEST_INTERVAL_MS)))
          throw new AppError('throttled', 'one test event a second', { retryAfterSeconds: 1 });
        const data = { message: 'This is a test event' };
        const event = { eventType: 'webhook.test', machineId: null, data } as const;
        const [messageId = ''] = await publishWebhookEvent(trx, event, { now: clock.now(), webhookId });
        return messageId;
      }),
    redeliver: (webhookId, deliveryId) =>
      db.transaction(async (trx) => {
        await requireEnabled(trx, webhookId);
        if ((await resendMessages(trx, webhookId, { deliveryId })) === 0)
          throw new AppError('not_found', `Delivery ${deliveryId} not found`);
      }),
    recover: (webhookId, since) =>
      db.transaction(async (trx) => {
        await requireEnabled(trx, webhookId);
        return resendMessages(trx, webhookId, { failedSince: since });
      }),
  };
};

const checkUrl = async (outbound: WebhookDeps['outbound'], url: string): Promise<void> => {
  try {
    await outbound.check(url);
  } catch (error) {
    throw invalidField('url', error instanceof AppError ? error.message : 'not usable');
  }
};

const checkSecret = (secret: string | undefined): void => {
  if (secret === undefined || !isStandardSecret(secret)) return;
  const base64 = standardSecretBase64(secret);
  if (base64 === '' || Buffer.from(base64, 'base64').toString('base64') !== base64)
    throw invalidField('secret', 'what follows whsec_ must be base64');
};

const setSecret = (
  trx: Knex,
  keys: KeyRing,
  webhookId: string,
  secret: string,
  overlapMs: number,
): Promise<void> => {
  const secretId = randomUUID();
  const { scope, aad } = webhookSecretPlace(webhookId, secretId);
  const sealed = keys.seal(scope, aad, Buffer.from(secret));
  return rotateWebhookSecret(trx, webhookId, { secretId, sealed }, overlapMs);
};

const requireEnabled = async (trx: Knex, webhookId: string): Promise<void> => {
  const webhook = await findWebhook(trx, webhookId);
  if (webhook === undefined) throw webhookNotFound(webhookId);
  if (!webhook.enabled) throw new AppError('conflict', 'the webhook is disabled');
};

/** A path or query may hold a token of the receiver. */
const hostOf = (url: string): string => new URL(url).host;

const changesOf = (patch: WebhookPatch): string =>
  `changed=${Object.entries(patch)
    .flatMap(([name, value]) => (value === undefined ? [] : name))
    .join(',')}`;
