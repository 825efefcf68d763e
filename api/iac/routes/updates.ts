import type Router from '@koa/router';
import { AppError } from '../../../domain/errors.js';
import { programKinds } from '../../../domain/iac/update.js';
import type { RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import type { Auth } from '../auth.js';
import { updateIdIn } from '../auth.js';
import type { IacRouteDeps } from '../context.js';
import { callerOf, nameIn, readJson, STACK, updatePaths } from '../context.js';
import { presentProgress, presentUpdate } from '../presenters.js';
import {
  CompleteRequest,
  EventsQuery,
  PageQuery,
  ProgramRequest,
  RenewRequest,
  StartRequest,
} from '../schemas/requests.js';

const VERSION = /^\d{1,9}$/;

/** The life of an update, and the history of those that were. */
export const updateRoutes = (router: Router<RequestState>, auth: Auth, deps: IacRouteDeps): void => {
  lifecycle(router, auth, deps);
  history(router, auth, deps);
};

const lifecycle = (
  router: Router<RequestState>,
  { operator, updateToken }: Auth,
  { useCases, org }: IacRouteDeps,
): void => {
  const { updates } = useCases;

  for (const kind of programKinds) {
    router.post(
      `${STACK}/${kind}`,
      operator(async (ctx) => {
        const { options, config, metadata } = await readJson(useCases, ctx, ProgramRequest);
        const environment = metadata?.environment ?? {};
        const caller = callerOf(ctx, environment['git.author'] ?? org);
        const { id } = await updates.announce(
          nameIn(ctx),
          {
            kind,
            dryRun: options?.dryRun ?? false,
            message: metadata?.message ?? '',
            environment,
            config: config ?? {},
          },
          caller,
        );
        ctx.body = { updateID: id, requiredPolicies: [], messages: [] };
      }),
    );
  }

  router.post(
    updatePaths(),
    operator(async (ctx) => {
      const { tags, journalVersion } = await readJson(useCases, ctx, StartRequest);
      const started = await updates.start(nameIn(ctx), updateIdIn(ctx), {
        tags: tags ?? undefined,
        journalVersion: journalVersion ?? 0,
      });
      ctx.body = {
        version: started.version,
        token: started.token,
        tokenExpiration: Math.floor(started.tokenExpiresAt.getTime() / 1000),
        ...(started.journalVersion > 0 ? { journalVersion: started.journalVersion } : {}),
      };
    }),
  );

  router.post(
    updatePaths('/renew_lease'),
    updateToken(async (ctx, update, token) => {
      const { duration } = await readJson(useCases, ctx, RenewRequest);
      const expires = await updates.renew(update.id, duration);
      ctx.body = { token, tokenExpiration: Math.floor(expires.getTime() / 1000) };
    }),
  );

  router.post(
    updatePaths('/complete'),
    updateToken(async (ctx, update) => {
      const { status } = await readJson(useCases, ctx, CompleteRequest);
      await updates.complete(update.stackId, update.id, status);
      ctx.status = 204;
    }),
  );

  router.post(
    updatePaths('/cancel'),
    operator(async (ctx) => {
      await updates.cancel(nameIn(ctx), updateIdIn(ctx));
      ctx.body = {};
    }),
  );
};

const history = (router: Router<RequestState>, { operator }: Auth, { useCases }: IacRouteDeps): void => {
  const { updates, history: past, journal } = useCases;

  router.get(
    `${STACK}/updates`,
    operator(async (ctx) => {
      const page = validate(PageQuery, ctx.query, 'query');
      const found = await past.updates(nameIn(ctx), page);
      ctx.body = { updates: found.map(presentUpdate), itemsPerPage: page.pageSize };
    }),
  );

  router.get(
    `${STACK}/updates/latest`,
    operator(async (ctx) => {
      const [latest] = await past.updates(nameIn(ctx), { page: 1, pageSize: 1 });
      if (latest === undefined) throw new AppError('not_found', 'this stack was never updated');
      ctx.body = { info: presentUpdate(latest) };
    }),
  );

  router.get(
    `${STACK}/updates/latest/previews`,
    operator(async (ctx) => {
      const found = await past.previews(nameIn(ctx), validate(PageQuery, ctx.query, 'query'));
      ctx.body = { updates: found.map((update) => ({ ...presentUpdate(update), updateID: update.id })) };
    }),
  );

  /** The plural form is shared by versions (digits) and update ids. */
  router.get(
    updatePaths(),
    operator(async (ctx) => {
      const { updateId = '' } = ctx.params as Record<string, string | undefined>;
      if (!VERSION.test(updateId)) {
        ctx.body = presentProgress(await updates.find(nameIn(ctx), updateIdIn(ctx)));
        return;
      }
      const found = await past.byVersion(nameIn(ctx), Number(updateId));
      if (found === undefined) throw new AppError('not_found', 'no such version');
      ctx.body = { info: presentUpdate(found), updateID: found.id };
    }),
  );

  router.get(
    updatePaths('/events'),
    operator(async (ctx) => {
      const { continuationToken, type, urn } = validate(EventsQuery, ctx.query, 'query');
      const update = await updates.find(nameIn(ctx), updateIdIn(ctx));
      const after = continuationToken === undefined ? -1 : Number(continuationToken);
      const { events, next } = await journal.events(update.id, update.endedAt !== null, { type, urn, after });
      ctx.type = 'application/json';
      ctx.body = `{"events":[${events.join(',')}],"continuationToken":${next === undefined ? 'null' : `"${next}"`}}`;
    }),
  );
};
