import Router from '@koa/router';
import { z } from 'zod';
import type { DeliveredConfig, Delivery } from '../../../activities/broker/deliver-config.js';
import { AppError } from '../../../domain/errors.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import { presentEnvelope } from '../presenters/envelope.js';

export const ENVELOPE_TYPE = 'application/vnd.svc.config.encrypted+json';

export interface ConfigUseCases {
  readonly configByToken: (token: string, delivery: Delivery) => Promise<DeliveredConfig>;
  readonly configByMac: (mac: string, delivery: Delivery) => Promise<DeliveredConfig>;
}

/** Reads `Accept`: whether an envelope is asked for, and in which `format` (a media-type parameter). */
export const deliveryOf = (accept: string): Delivery => {
  for (const range of accept.split(',').slice(0, 32)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (type.toLowerCase() !== ENVELOPE_TYPE) continue;
    const format = parameters.find((parameter) => /^format=/i.test(parameter))?.slice('format='.length);
    return { encrypted: true, format: format?.replace(/^"(.*)"$/, '$1') };
  }
  return { encrypted: false };
};

const answer = (ctx: Ctx, config: DeliveredConfig): void => {
  ctx.set('Cache-Control', 'no-store');
  ctx.vary('Accept');
  if (config.kind !== 'pending') ctx.state.logFields = { machineId: config.machineId, delivery: config.kind };
  switch (config.kind) {
    case 'pending':
      ctx.type = 'text/plain; charset=utf-8';
      ctx.body = config.text;
      return;
    case 'plain':
      ctx.type = 'application/yaml';
      ctx.body = config.yaml;
      return;
    case 'envelope':
      ctx.body = JSON.stringify(presentEnvelope(config.envelope));
      ctx.set('Content-Type', ENVELOPE_TYPE);
      return;
  }
};

const MacQuery = z.object({ mac: z.string('is required').min(1).max(64) });

export const configRoutes = ({ configByToken, configByMac }: ConfigUseCases): Router<RequestState> =>
  new Router<RequestState>()
    .get('/config', async (ctx) => {
      const { mac } = validate(MacQuery, ctx.query, 'query');
      answer(ctx, await configByMac(mac, deliveryOf(ctx.get('Accept'))));
    })
    .get('/config/:token', async (ctx) => {
      const token = ctx.params['token'] ?? '';
      if (!/^[A-Za-z0-9_-]{20,128}$/.test(token)) throw new AppError('not_found', 'config token unknown');
      answer(ctx, await configByToken(token, deliveryOf(ctx.get('Accept'))));
    });
