import { randomUUID } from 'node:crypto';
import type { Middleware } from 'koa';
import type { Logger } from '../../domain/logger.js';
import type { createSourceOf } from './source.js';
import type { RequestState } from './state.js';

const ACCEPTED_ID = /^[A-Za-z0-9._-]{8,128}$/;

interface RequestOptions {
  readonly log: Logger;
  readonly sourceOf: ReturnType<typeof createSourceOf>;
  /** Called once an answer is sent, for metrics. */
  readonly observe?: (fields: { method: string; route: string; status: number; seconds: number }) => void;
}

/** Gives the request its id and source, and writes its one log line when it is answered. */
export const requestContext =
  ({ log, sourceOf, observe }: RequestOptions): Middleware<RequestState> =>
  async (ctx, next) => {
    const started = performance.now();
    const given = ctx.get('X-Request-Id');
    const source = sourceOf(ctx.req.socket.remoteAddress ?? '', ctx.get('X-Forwarded-For'));
    ctx.state.requestId = ACCEPTED_ID.test(given) ? given : randomUUID();
    ctx.state.source = source.address;
    ctx.state.sourceIsProxy = source.isProxy;
    ctx.state.viaProxy = source.viaProxy;
    ctx.state.log = log;
    ctx.set('X-Request-Id', ctx.state.requestId);
    await next();
    const milliseconds = performance.now() - started;
    const route = routeOf(ctx);
    observe?.({ method: ctx.method, route, status: ctx.status, seconds: milliseconds / 1000 });
    const fields = {
      requestId: ctx.state.requestId,
      method: ctx.method,
      route,
      status: ctx.status,
      ms: Math.round(milliseconds * 10) / 10,
      source: ctx.state.source,
      ...ctx.state.logFields,
      ...(ctx.state.refusal === undefined ? {} : { refusal: ctx.state.refusal }),
    };
    if (ctx.path === '/healthz' || ctx.path === '/readyz') log.debug(fields, 'request');
    else log.info(fields, 'request');
  };

const routeOf = (ctx: object): string => {
  const { _matchedRoute: route } = ctx as { _matchedRoute?: unknown };
  return typeof route === 'string' ? route : 'unmatched';
};
