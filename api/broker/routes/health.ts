import Router from '@koa/router';
import type { Readiness } from '../../http/readiness.js';
import { presentReadiness } from '../../http/readiness.js';
import type { RequestState } from '../../http/state.js';

/** Alive, and ready to serve. */
export const healthRoutes = (readiness: Readiness): Router<RequestState> =>
  new Router<RequestState>()
    .get('/healthz', (ctx) => {
      ctx.body = { status: 'ok' };
    })
    .get('/readyz', async (ctx) => {
      const report = await readiness();
      ctx.status = report.ready ? 200 : 503;
      ctx.body = presentReadiness(report);
    });
