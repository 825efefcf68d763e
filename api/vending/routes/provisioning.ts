import Router from '@koa/router';
import { AppError } from '../../../domain/errors.js';
import type { Run, Trigger } from '../../../domain/vending/run.js';
import type { ProvisioningRequest } from '../../../domain/vending/subscription.js';
import { requireSharedSecret } from '../../auth/shared-secret.js';
import type { RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import { presentDryRun, presentPreflight } from '../presenters/plans.js';
import { presentReplay } from '../presenters/runs.js';
import { MockEventRequest, PreflightRequest, ReplayRequest } from '../schemas/requests.js';
import type { VendingUseCases } from '../use-cases.js';

/** Callers of these endpoints allow two minutes. */
const WAIT_MS = 110_000;

interface Options {
  readonly workerSecret: string | undefined;
  readonly mockMode: boolean;
}

const toRequest = (body: {
  readonly subscription_id: string;
  readonly subscription_name: string;
  readonly management_group_id: string;
}): ProvisioningRequest => ({
  subscriptionId: body.subscription_id,
  subscriptionName: body.subscription_name,
  managementGroupId: body.management_group_id,
});

/** Preflight, replay, and in mock mode the test event. */
export const provisioningRoutes = (options: Options, useCases: VendingUseCases): Router<RequestState> => {
  const router = new Router<RequestState>();
  const requireSecret = requireSharedSecret('x-replay-secret', options.workerSecret, 'Invalid replay secret');
  const run = async (request: ProvisioningRequest, trigger: Trigger, by: string): Promise<Run> => {
    const ended = await useCases.provision(request, { trigger, triggeredBy: by, source: trigger }, WAIT_MS);
    if (ended !== undefined) return ended;
    throw new AppError('unavailable', 'The run is still going on; see /runs', { retryAfterSeconds: 30 });
  };

  router.post('/webhook/preflight', async (ctx) => {
    const body = validate(PreflightRequest, ctx.request.body);
    ctx.body = presentPreflight(await useCases.preflight(toRequest(body), body.snow_ticket), body);
  });

  router.post('/webhook/replay', async (ctx) => {
    requireSecret(ctx);
    const body = validate(ReplayRequest, ctx.request.body);
    ctx.body = body.dry_run
      ? presentDryRun(await useCases.preflight(toRequest(body), ''), body.subscription_id)
      : presentReplay(await run(toRequest(body), 'replay', ctx.state.source), body.subscription_id);
  });

  if (options.mockMode) {
    router.post('/webhook/test', async (ctx) => {
      const body = validate(MockEventRequest, ctx.request.body);
      const answer = body.dry_run
        ? presentDryRun(await useCases.offlinePlan(toRequest(body), ''), body.subscription_id)
        : presentReplay(await run(toRequest(body), 'test', ctx.state.source), body.subscription_id);
      ctx.body = {
        status: answer.status,
        message: (answer.status === 'ok' ? answer.plan : answer.errors).join('; '),
        subscription_id: body.subscription_id,
      };
    });
  }
  return router;
};
