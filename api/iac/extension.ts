import Router from '@koa/router';
import type { Middleware } from 'koa';
import type { ErrorBody } from '../http/errors.js';
import { handleErrors } from '../http/errors.js';
import type { RequestState } from '../http/state.js';
import { createAuth } from './auth.js';
import type { IacRouteDeps } from './context.js';
import { deploymentSettingsRoutes } from './routes/deployment-settings.js';
import { deploymentRoutes } from './routes/deployments.js';
import { secretRoutes } from './routes/secrets.js';
import { stackRoutes } from './routes/stacks.js';
import { stateRoutes } from './routes/states.js';
import { updateRoutes } from './routes/updates.js';
import { userRoutes } from './routes/user.js';
import { writeRoutes } from './routes/writes.js';

export const iacExtension = {
  name: 'iac_state',
  version: '1.0.0',
  description: 'State backend and secrets provider of the IaC CLI',
} as const;

/** Paths of the state backend; `/api/v1` beside them is the broker's. */
const OURS = /^\/api\/(user|capabilities|stacks|cli|orgs)(\/|$)/;

/** The CLI shows `[code] message`, and acts on the code. */
const codeBody: ErrorBody = ({ status, message }) => ({ code: status, message });

/** The state backend as one middleware; what is not its own it leaves to the next. */
export const createIacExtension = (deps: IacRouteDeps): Middleware<RequestState> => {
  const router = new Router<RequestState>();
  const auth = createAuth(deps);
  for (const routes of [
    userRoutes,
    stackRoutes,
    secretRoutes,
    stateRoutes,
    updateRoutes,
    writeRoutes,
    deploymentSettingsRoutes,
    deploymentRoutes,
  ]) {
    routes(router, auth, deps);
  }
  const routed = router.routes() as unknown as Middleware<RequestState>;
  const run = async (ctx: Parameters<typeof routed>[0]): Promise<void> => {
    await routed(ctx, () => Promise.resolve());
  };
  const errors = handleErrors(codeBody);
  return async (ctx, next) => {
    if (!OURS.test(ctx.path)) await next();
    else await errors(ctx, () => run(ctx));
  };
};
