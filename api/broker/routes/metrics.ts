import Router from '@koa/router';
import type { Registry } from 'prom-client';
import type { RequestState } from '../../http/state.js';

/** Prometheus text exposition, without authentication as specified: no label holds more than a status or an action. */
export const metricsRoutes = (registry: Registry): Router<RequestState> =>
  new Router<RequestState>().get('/metrics', async (ctx) => {
    ctx.set('Content-Type', registry.contentType);
    ctx.body = await registry.metrics();
  });
