import Router from '@koa/router';
import type { VendingConfig } from '../../../domain/config/vending.js';
import { redactedView } from '../../../domain/config/vending.js';
import type { Readiness } from '../../http/readiness.js';
import { presentReadiness } from '../../http/readiness.js';
import type { RequestState } from '../../http/state.js';

/** Alive, ready, and the active settings. */
export const serviceRoutes = (config: VendingConfig, readiness: Readiness): Router<RequestState> => {
  const view = { ...redactedView(config), api_open: config.VENDING_API_IDP_TENANT_ID === '' };
  return new Router<RequestState>()
    .get('/health', (ctx) => {
      ctx.body = { status: 'ok' };
    })
    .get('/readyz', async (ctx) => {
      const report = await readiness();
      ctx.status = report.ready ? 200 : 503;
      ctx.body = presentReadiness(report);
    })
    .get('/config', (ctx) => {
      ctx.body = view;
    });
};
