import Router from '@koa/router';
import type { RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import { presentHistory, presentRuns } from '../presenters/runs.js';
import { RunsQuery } from '../schemas/requests.js';
import type { VendingUseCases } from '../use-cases.js';

/** The runs as they were: per step state, timing, attempts and error. */
export const runRoutes = ({
  runs,
  linkTo,
}: Pick<VendingUseCases, 'runs' | 'linkTo'>): Router<RequestState> => {
  const router = new Router<RequestState>({ prefix: '/runs' });
  router.get('/', async (ctx) => {
    const { limit, status, before } = validate(RunsQuery, ctx.query, 'query');
    ctx.body = presentRuns(await runs.list({ limit, status, before }), limit, linkTo);
  });
  router.get('/:subscription_id', async (ctx) => {
    ctx.body = presentHistory(await runs.ofSubscription(ctx.params['subscription_id'] ?? ''), linkTo);
  });
  return router;
};
