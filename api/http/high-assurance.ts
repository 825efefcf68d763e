import type { Middleware } from 'koa';
import { AppError } from '../../domain/errors.js';
import type { RequestState } from './state.js';

/** Probes come from beside the gateway, not through the proxy. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/**
 * SVC_HIGH_ASSURANCE: only requests that a trusted proxy says came over TLS. Of several `X-Forwarded-Proto` values the
 * last one counts, which is the one that the trusted peer wrote itself.
 */
export const requireHttps: Middleware<RequestState> = async (ctx, next) => {
  if (PROBES.has(ctx.path)) {
    await next();
    return;
  }
  const proto = ctx.state.viaProxy ? ctx.get('X-Forwarded-Proto').split(',').at(-1)?.trim() : undefined;
  if (proto !== 'https') throw new AppError('forbidden', 'https is required', { code: 'https_required' });
  ctx.set('Strict-Transport-Security', 'max-age=31536000; includeSubDomains');
  await next();
};
