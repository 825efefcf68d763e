import type Router from '@koa/router';
import type { Outbound } from '../../activities/adapters/http.js';
import { createWebhooks, webhookNotFound } from '../../activities/broker/webhooks.js';
import { findDelivery, listDeliveries } from '../../db/broker/deliveries.js';
import { findWebhook, listWebhooks } from '../../db/broker/webhooks.js';
import type { RequestState } from '../http/state.js';
import type { BrokerParts } from './parts.js';
import type { ExtensionInfo } from './routes/extensions.js';
import { webhookRoutes } from './routes/webhooks.js';

export const webhookExtension: ExtensionInfo = {
  name: 'webhooks',
  version: '1.0.0',
  description: 'Signed event deliveries with retries',
};

export const webhookRouter = (
  {
    config,
    db,
    clock,
    keyRing,
    operator,
  }: Pick<BrokerParts, 'config' | 'db' | 'clock' | 'keyRing' | 'operator'>,
  outbound: Pick<Outbound, 'check'>,
): Router<RequestState> => {
  const find = async (webhookId: string) => {
    const webhook = await findWebhook(db, webhookId);
    if (webhook === undefined) throw webhookNotFound(webhookId);
    return webhook;
  };
  return webhookRoutes(
    {
      ...createWebhooks({
        db,
        clock,
        outbound,
        keys: keyRing,
        defaultRateLimitPerMinute: config.SVC_WEBHOOK_RATE_LIMIT_PER_MINUTE,
      }),
      find,
      list: () => listWebhooks(db),
      deliveries: async (webhookId, filter, limit) => {
        await find(webhookId);
        return listDeliveries(db, webhookId, filter, limit);
      },
      delivery: (webhookId, deliveryId) => findDelivery(db, webhookId, deliveryId),
    },
    operator,
  );
};
