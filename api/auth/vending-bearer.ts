import type { Middleware } from 'koa';
import type { Outbound } from '../../activities/adapters/http.js';
import type { VendingConfig } from '../../domain/config/vending.js';
import { AppError } from '../../domain/errors.js';
import type { Logger } from '../../domain/logger.js';
import type { RequestState } from '../http/state.js';
import { createIssuerKeySource } from './issuer-keys.js';
import { createTokenCheck } from './oidc.js';

const ALGORITHMS = ['RS256'];
const OPEN_PATHS: ReadonlySet<string> = new Set(['/health', '/readyz', '/docs', '/redoc', '/openapi.json']);
const isOpen = (path: string): boolean => OPEN_PATHS.has(path) || path.startsWith('/docs/');

const unauthenticated = () => new AppError('unauthenticated', 'Missing or invalid access token');

type Settings = Pick<
  VendingConfig,
  | 'VENDING_API_IDP_TENANT_ID'
  | 'VENDING_API_IDP_AUDIENCE'
  | 'VENDING_API_IDP_REQUIRED_ROLE'
  | 'VENDING_API_IDP_AUTHORITY'
>;

/**
 * Requires an access token of the configured tenant on every path but health and documentation; 403 for a token without
 * the role. Undefined when no tenant is configured: the API is open then.
 */
export const vendingBearer = (
  config: Settings,
  deps: { readonly outbound: Outbound; readonly log: Logger },
): Middleware<RequestState> | undefined => {
  if (config.VENDING_API_IDP_TENANT_ID === '') return undefined;
  const issuer = `${config.VENDING_API_IDP_AUTHORITY}/${config.VENDING_API_IDP_TENANT_ID}/v2.0`;
  const keys = createIssuerKeySource({ issuer, ...deps });
  const check = createTokenCheck({
    issuer,
    audience: config.VENDING_API_IDP_AUDIENCE,
    keys,
    algorithms: ALGORITHMS,
  });
  const role = config.VENDING_API_IDP_REQUIRED_ROLE;
  return async (ctx, next) => {
    if (!isOpen(ctx.path)) {
      const claims = await check(/^Bearer ([^\s]+)$/i.exec(ctx.get('Authorization'))?.[1] ?? '');
      if (claims === undefined) throw (await refusal(keys)) ?? unauthenticated();
      if (role !== '' && !hasRole(claims['roles'], role)) {
        throw new AppError('forbidden', 'The token lacks the required role');
      }
      ctx.state.logFields = { ...ctx.state.logFields, caller: claims.sub };
    }
    await next();
  };
};

const hasRole = (roles: unknown, role: string): boolean => Array.isArray(roles) && roles.includes(role);

/** Without keys nobody can be judged: that is our trouble, not the caller's. */
const refusal = async (keys: ReturnType<typeof createIssuerKeySource>): Promise<AppError | undefined> =>
  (await keys.current()) === undefined
    ? new AppError('unavailable', 'The key set of the tenant cannot be reached', { retryAfterSeconds: 5 })
    : undefined;
