import { randomBytes, randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { createOutbound } from '../../activities/adapters/http.js';
import { createWebhooks } from '../../activities/broker/webhooks.js';
import type { WebhookInput } from '../../activities/broker/webhooks.js';
import { publishWebhookEvent } from '../../activities/broker/publish-event.js';
import { createKeyRing } from '../../activities/crypto/key-ring.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { WebhookEvent } from '../../domain/broker/webhook.js';
import { systemClock } from '../../domain/clock.js';
import { loopbackPolicy } from './webhook-sink.js';

export const ann: Actor = {
  operatorCn: 'ann',
  identity: 'cert:ann',
  context: { requestId: randomUUID(), sourceAddress: '127.0.0.1', method: 'certificate' },
};

export const testKeys = () => createKeyRing({ masterKey: randomBytes(32).toString('hex'), previousKeys: [] });

/** The webhook use cases over a real database, with loopback open. */
export const webhookWorld = (db: Knex, keys = testKeys()) => {
  const outbound = createOutbound({ policy: loopbackPolicy });
  const clock = systemClock;
  const webhooks = createWebhooks({ db, clock, keys, outbound, defaultRateLimitPerMinute: 0 });
  return {
    keys,
    outbound,
    clock,
    webhooks,
    hook: (url: string, input: Partial<WebhookInput> = {}) =>
      webhooks.create(ann, { url, events: ['machine.registered'], ...input }),
    /** To every subscriber, or only to `webhookId`; returns the message ids. */
    publish: (event: Partial<WebhookEvent> = {}, webhookId?: string, eventId: string = randomUUID()) =>
      db.transaction((trx) =>
        publishWebhookEvent(
          trx,
          { eventType: 'machine.registered', machineId: null, data: {}, ...event },
          { now: clock.now(), eventId, ...(webhookId === undefined ? {} : { webhookId }) },
        ),
      ),
  };
};
