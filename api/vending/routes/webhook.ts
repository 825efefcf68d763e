import Router from '@koa/router';
import type { VendingConfig } from '../../../domain/config/vending.js';
import { AppError } from '../../../domain/errors.js';
import { readDelivery } from '../../../domain/vending/event.js';
import { requireSharedSecret } from '../../auth/shared-secret.js';
import { jsonBody, MEBIBYTE } from '../../http/body.js';
import type { RequestState } from '../../http/state.js';
import type { VendingUseCases } from '../use-cases.js';

/** A batch of events may have 1 MB, and one event more than that never arrives. */
const LIMIT_BYTES = 2 * MEBIBYTE;
const ALLOWED_RATE = '1000';

type Settings = Pick<
  VendingConfig,
  'VENDING_EVENT_SAS_KEY' | 'VENDING_EVENT_SUBSCRIPTION_NAMES' | 'VENDING_EVENT_ALLOWED_ORIGINS'
>;

/** The event webhook: Event Grid handshake and deliveries, CloudEvents abuse protection and deliveries. */
export const webhookRoutes = (
  config: Settings,
  { receiveEvents }: Pick<VendingUseCases, 'receiveEvents'>,
): Router<RequestState> => {
  const router = new Router<RequestState>();
  const requireSasKey = requireSharedSecret(
    'aeg-sas-key',
    config.VENDING_EVENT_SAS_KEY,
    'Invalid Event Grid SAS key',
  );
  const allowedNames = new Set(config.VENDING_EVENT_SUBSCRIPTION_NAMES.map((name) => name.toUpperCase()));
  const origins = new Set(config.VENDING_EVENT_ALLOWED_ORIGINS);

  router.options(['/webhook', '/webhook/'], (ctx) => {
    const origin = ctx.get('WebHook-Request-Origin');
    if (!origins.has(origin)) throw new AppError('malformed', 'Unknown WebHook-Request-Origin');
    ctx.set('WebHook-Allowed-Origin', origin);
    ctx.set('WebHook-Allowed-Rate', ALLOWED_RATE);
    ctx.status = 200;
    ctx.body = '';
  });

  router.post(
    ['/webhook', '/webhook/'],
    async (ctx, next) => {
      requireSasKey(ctx);
      if (allowedNames.size > 0 && !allowedNames.has(ctx.get('aeg-subscription-name').toUpperCase())) {
        throw new AppError('forbidden', 'Unknown event subscription');
      }
      await next();
    },
    jsonBody({ limitBytes: LIMIT_BYTES, notJson: 'malformed' }),
    async (ctx) => {
      const delivery = readDelivery(ctx.request.body, ctx.get('aeg-event-type') || undefined);
      if (delivery.kind === 'handshake') {
        ctx.body = { validationResponse: delivery.validationCode };
        return;
      }
      ctx.state.logFields = {
        ...ctx.state.logFields,
        events: delivery.created.length,
        ignored: delivery.ignored,
      };
      await receiveEvents(delivery.created);
      ctx.status = 200;
      ctx.body = '';
    },
  );
  return router;
};
