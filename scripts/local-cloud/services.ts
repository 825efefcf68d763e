import { randomUUID } from 'node:crypto';
import type Router from '@koa/router';
import type { LocalSubscription } from './model.js';
import type { Store } from './store.js';

/** The authorization service, and receivers for the notifications of outcomes. */
export const mountServices = (router: Router, store: Store): void => {
  router.post('/sync/foundation', (ctx) => {
    const id = String(ctx.query['subscription_id'] ?? '').toLowerCase();
    if (store.get<LocalSubscription>('subscriptions', id) === undefined) {
      ctx.status = 404;
      ctx.body = { detail: 'unknown subscription' };
      return;
    }
    const initiative = store.get<{ initiative_id: string }>('initiatives', id) ?? {
      initiative_id: `foundation-${id}`,
    };
    store.put('initiatives', id, initiative);
    ctx.body = initiative;
  });
  router.post('/notices/:receiver', (ctx) => {
    const notice = { receiver: ctx.params['receiver'], headers: ctx.headers, body: ctx.request.body };
    store.put('notices', randomUUID(), notice);
    ctx.body = { received: true };
  });
};
