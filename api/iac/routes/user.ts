import type Router from '@koa/router';
import type { RequestState } from '../../http/state.js';
import type { Auth } from '../auth.js';
import type { IacRouteDeps } from '../context.js';
import { callerOf, STACK } from '../context.js';
import { capabilities, presentUser } from '../presenters.js';

const OLDEST_CLI = 'v3.0.0';

/** Who the caller is and what the backend can do. */
export const userRoutes = (router: Router<RequestState>, { operator }: Auth, { org }: IacRouteDeps): void => {
  const answer = (path: string | string[], body: (cliVersion: string) => object) => {
    router.get(
      path,
      operator((ctx) => {
        ctx.body = body(callerOf(ctx, org).cliVersion);
      }),
    );
  };
  answer('/api/user', () => presentUser(org));
  answer('/api/capabilities', () => capabilities);
  answer('/api/user/organizations/default', () => ({ GitHubLogin: org, Messages: [] }));
  answer('/api/cli/version', (version) => ({
    latestVersion: version || OLDEST_CLI,
    oldestWithoutWarning: OLDEST_CLI,
  }));
  answer(`${STACK}/policypacks`, () => ({ requiredPolicies: [] }));
  answer('/api/orgs/:org/policypacks', () => ({ policyPacks: [] }));
};
