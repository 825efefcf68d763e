import Router from '@koa/router';
import type { Webhooks } from '../../../activities/broker/webhooks.js';
import type { DeliveryDetail, DeliveryFilter, DeliveryRecord } from '../../../db/broker/deliveries.js';
import type { WebhookRecord } from '../../../db/broker/webhooks.js';
import { AppError } from '../../../domain/errors.js';
import { actorOf } from '../../auth/actor.js';
import type { RequireOperator } from '../../auth/actor.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { uuidInPath, validate } from '../../http/validate.js';
import { presentDelivery, presentDeliveryDetail, presentWebhook } from '../presenters/webhooks.js';
import {
  CreateWebhookRequest,
  DeliveriesQuery,
  RecoverQuery,
  RotateSecretRequest,
  UpdateWebhookRequest,
} from '../schemas/webhooks.js';

export interface WebhookUseCases extends Webhooks {
  readonly list: () => Promise<readonly WebhookRecord[]>;
  readonly find: (webhookId: string) => Promise<WebhookRecord>;
  readonly deliveries: (
    webhookId: string,
    filter: DeliveryFilter,
    limit: number,
  ) => Promise<readonly DeliveryRecord[]>;
  readonly delivery: (webhookId: string, deliveryId: string) => Promise<DeliveryDetail | undefined>;
}

const idOf = (ctx: Ctx): string => uuidInPath(ctx.params['id'], 'Webhook');
const deliveryIdOf = (ctx: Ctx): string => uuidInPath(ctx.params['delivery_id'], 'Delivery');

export const webhookRoutes = (webhooks: WebhookUseCases, operator: RequireOperator): Router<RequestState> =>
  new Router<RequestState>({ prefix: '/webhooks' })
    .post('/', operator, async (ctx) => {
      const input = validate(CreateWebhookRequest, ctx.request.body);
      ctx.body = presentWebhook(await webhooks.create(actorOf(ctx), input));
      ctx.status = 201;
    })
    .get('/', operator, async (ctx) => {
      const found = await webhooks.list();
      ctx.body = { webhooks: found.map(presentWebhook), total: found.length };
    })
    .get('/:id', operator, async (ctx) => {
      ctx.body = presentWebhook(await webhooks.find(idOf(ctx)));
    })
    .put('/:id', operator, async (ctx) => {
      const id = idOf(ctx);
      const patch = validate(UpdateWebhookRequest, ctx.request.body ?? {});
      ctx.body = presentWebhook(await webhooks.update(actorOf(ctx), id, patch));
    })
    .delete('/:id', operator, async (ctx) => {
      await webhooks.remove(actorOf(ctx), idOf(ctx));
      ctx.status = 204;
    })
    .post('/:id/rotate-secret', operator, async (ctx) => {
      const id = idOf(ctx);
      const { overlapHours } = validate(RotateSecretRequest, ctx.request.body ?? {});
      const secret = await webhooks.rotateSecret(actorOf(ctx), id, overlapHours);
      ctx.set('Cache-Control', 'no-store');
      ctx.body = { webhook_id: id, secret, overlap_hours: overlapHours };
    })
    .post('/:id/test', operator, async (ctx) => {
      const deliveryId = await webhooks.test(idOf(ctx));
      ctx.status = 202;
      ctx.body = { status: 'test event sent', delivery_id: deliveryId };
    })
    .post('/:id/recover', operator, async (ctx) => {
      const id = idOf(ctx);
      const { since } = validate(RecoverQuery, ctx.query, 'query');
      ctx.status = 202;
      ctx.body = { recovered: await webhooks.recover(id, since) };
    })
    .get('/:id/deliveries', operator, async (ctx) => {
      const id = idOf(ctx);
      const { limit, event_type: eventType, ...filter } = validate(DeliveriesQuery, ctx.query, 'query');
      const found = await webhooks.deliveries(id, { ...filter, eventType }, limit);
      ctx.body = { deliveries: found.map(presentDelivery), total: found.length };
    })
    .get('/:id/deliveries/:delivery_id', operator, async (ctx) => {
      const found = await webhooks.delivery(idOf(ctx), deliveryIdOf(ctx));
      if (found === undefined) throw new AppError('not_found', 'Delivery not found');
      ctx.body = presentDeliveryDetail(found);
    })
    .post('/:id/deliveries/:delivery_id/redeliver', operator, async (ctx) => {
      const id = idOf(ctx);
      const deliveryId = deliveryIdOf(ctx);
      await webhooks.redeliver(id, deliveryId);
      ctx.status = 202;
      ctx.body = { status: 'redelivery started', delivery_id: deliveryId };
    });
