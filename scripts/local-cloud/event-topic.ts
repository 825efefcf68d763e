import { createHash, timingSafeEqual } from 'node:crypto';
import type Router from '@koa/router';
import type { LocalIdentity } from './identity.js';
import { ArmFault } from './model.js';
import type { Store } from './store.js';

const REQUIRED = ['id', 'subject', 'eventType', 'eventTime', 'dataVersion', 'data'];
const MAX_BYTES = 1_048_576;

/** A topic that takes Event Grid events or CloudEvents and remembers them by id. */
export const mountTopic = (router: Router, store: Store, identity: LocalIdentity, key: string): void => {
  router.post('/topic/api/events', async (ctx) => {
    const allowed =
      sameText(ctx.get('aeg-sas-key'), key) || (await identity.accepts(ctx.get('Authorization')));
    if (!allowed)
      throw new ArmFault(401, 'Unauthorized', 'Request must contain a valid key, signature or token.');
    if (ctx.query['api-version'] !== '2018-01-01')
      throw new ArmFault(400, 'BadRequest', 'api-version is not supported.');
    if (ctx.request.length > MAX_BYTES)
      throw new ArmFault(413, 'RequestEntityTooLarge', 'The array is too large.');
    const events = ctx.request.body as Record<string, unknown>[];
    if (!Array.isArray(events)) throw new ArmFault(400, 'BadRequest', 'The request must be an array.');
    events.forEach(checkEvent);
    for (const event of events) {
      const id = String(event['id']);
      const { deliveries = 0 } = store.get<{ deliveries?: number }>('published', id) ?? {};
      store.put('published', id, { event, deliveries: deliveries + 1 });
    }
    ctx.status = 200;
  });
};

const checkEvent = (event: Record<string, unknown>): void => {
  const required = event['specversion'] === '1.0' ? ['id', 'source', 'type'] : REQUIRED;
  const missing = required.filter((name) => event[name] === undefined);
  if (missing.length > 0) throw new ArmFault(400, 'BadRequest', `The event lacks ${missing.join(', ')}.`);
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const sameText = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
