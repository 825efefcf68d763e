import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type Router from '@koa/router';
import type { ExportedState } from '../../../activities/iac/exports.js';
import { AppError } from '../../../domain/errors.js';
import type { Ctx, RequestState } from '../../http/state.js';
import type { Auth } from '../auth.js';
import type { IacRouteDeps } from '../context.js';
import { callerOf, nameIn, STACK } from '../context.js';

const NEVER = '0001-01-01T00:00:00Z';
const emptyState = {
  version: 3,
  deployment: { manifest: { time: NEVER, magic: '', version: '' }, resources: [] },
};

/** Whole states out and in. */
export const stateRoutes = (router: Router<RequestState>, { operator }: Auth, deps: IacRouteDeps): void => {
  const { exports, changes, bodies } = deps.useCases;

  router.get(
    `${STACK}/export`,
    operator(async (ctx) => send(ctx, await exports.current(nameIn(ctx)))),
  );

  router.get(
    `${STACK}/export/:version`,
    operator(async (ctx) => {
      const { version = '' } = ctx.params as Record<string, string | undefined>;
      if (!/^\d{1,9}$/.test(version)) throw new AppError('not_found', 'no such version');
      send(ctx, await exports.version(nameIn(ctx), Number(version)));
    }),
  );

  router.post(
    `${STACK}/import`,
    operator(async (ctx) => {
      const text = await bodies.read(ctx.req);
      ctx.body = { updateId: await changes.importState(nameIn(ctx), text, callerOf(ctx, deps.org)) };
    }),
  );
};

/** The stored compressed bytes go out as they are, to whoever takes gzip. */
const send = (ctx: Ctx, state: ExportedState | undefined): void => {
  if (state === undefined) {
    ctx.body = emptyState;
    return;
  }
  ctx.vary('Accept-Encoding');
  ctx.type = 'application/json';
  if (ctx.acceptsEncodings('gzip', 'identity') === 'gzip') {
    ctx.set('Content-Encoding', 'gzip');
    ctx.body = state.gzip;
    return;
  }
  ctx.body = pipeline(Readable.from(state.gzip, { objectMode: false }), createGunzip(), () => undefined);
  ctx.length = state.byteSize;
};
