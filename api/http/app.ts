import Koa from 'koa';
import type Router from '@koa/router';
import type { Middleware } from 'koa';
import type { Logger } from '../../domain/logger.js';
import { detailBody, handleErrors } from './errors.js';
import type { ErrorBody } from './errors.js';
import { requestContext } from './request.js';
import { createSourceOf, parseCidr } from './source.js';
import type { RequestState } from './state.js';

/** Middleware of any kind: koa's own, a router's routes or its allowedMethods. */
type Mounted = Middleware<RequestState> | ReturnType<Router<RequestState>['routes' | 'allowedMethods']>;

interface AppOptions {
  readonly log: Logger;
  readonly trustedProxies: readonly string[];
  readonly errorBody?: ErrorBody;
  readonly observe?: Parameters<typeof requestContext>[0]['observe'];
  /** In order; routers come last. */
  readonly middleware: readonly Mounted[];
}

/** The outer middleware every gateway shares: request id and log line, then errors, then the gateway's own. */
export const createApp = (options: AppOptions): Koa<RequestState> => {
  const app = new Koa<RequestState>();
  app.use(
    requestContext({
      log: options.log,
      sourceOf: createSourceOf(options.trustedProxies.map(parseCidr)),
      ...(options.observe === undefined ? {} : { observe: options.observe }),
    }),
  );
  app.use(handleErrors(options.errorBody ?? detailBody));
  for (const middleware of options.middleware) app.use(middleware as Middleware<RequestState>);
  app.on('error', (error: Error) => options.log.warn({ err: error }, 'connection error'));
  return app;
};
