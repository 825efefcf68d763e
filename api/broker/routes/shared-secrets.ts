import Router from '@koa/router';
import type { SecretGrants } from '../../../activities/broker/secret-grants.js';
import type { SharedSecrets } from '../../../activities/broker/shared-secrets.js';
import type { SharedSecretRecord } from '../../../db/broker/shared-secrets.js';
import type { Actor } from '../../../domain/broker/actor.js';
import type { RewrapProgress } from '../../../domain/broker/rewrap.js';
import { secretTag } from '../../../domain/broker/secret.js';
import { actorOf } from '../../auth/actor.js';
import type { RequireOperator } from '../../auth/actor.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { uuidInPath, validate } from '../../http/validate.js';
import { presentGrant, presentSharedSecret, presentSharedValue } from '../presenters/secrets.js';
import {
  AccessRequest,
  CreateSharedSecretRequest,
  MachineHeaders,
  UpdateSharedSecretRequest,
} from '../schemas/secrets.js';
import { deliveryOf } from './config.js';
import { ifMatch } from './machine-secrets.js';

export interface SharedSecretUseCases extends Omit<SharedSecrets, 'read'> {
  readonly grants: SecretGrants;
  readonly list: () => Promise<readonly SharedSecretRecord[]>;
  readonly find: (id: string) => Promise<SharedSecretRecord>;
  readonly startRewrap: (actor: Actor) => Promise<void>;
  readonly rewrapProgress: () => Promise<RewrapProgress>;
}

const idOf = (ctx: Ctx): string => uuidInPath(ctx.params['id'], 'Shared secret');

const show = (ctx: Ctx, secret: SharedSecretRecord): void => {
  ctx.set('ETag', secretTag(secret.version));
  ctx.body = presentSharedSecret(secret);
};

export const sharedSecretRoutes = (
  secrets: SharedSecretUseCases,
  operator: RequireOperator,
): Router<RequestState> =>
  new Router<RequestState>({ prefix: '/shared-secrets' })
    .post('/', operator, async (ctx) => {
      const input = validate(CreateSharedSecretRequest, ctx.request.body);
      show(ctx, await secrets.create(actorOf(ctx), input));
      ctx.status = 201;
    })
    .get('/', operator, async (ctx) => {
      const found = await secrets.list();
      ctx.body = { secrets: found.map(presentSharedSecret), total: found.length };
    })
    .post('/rewrap', operator, async (ctx) => {
      await secrets.startRewrap(actorOf(ctx));
      ctx.status = 202;
      ctx.body = { status: 'rewrap started' };
    })
    .get('/rewrap', operator, async (ctx) => {
      ctx.body = await secrets.rewrapProgress();
    })
    .get('/:id', operator, async (ctx) => show(ctx, await secrets.find(idOf(ctx))))
    .put('/:id', operator, async (ctx) => {
      const id = idOf(ctx);
      const patch = validate(UpdateSharedSecretRequest, ctx.request.body ?? {});
      show(ctx, await secrets.update(actorOf(ctx), id, patch, ifMatch(ctx)));
    })
    .delete('/:id', operator, async (ctx) => {
      await secrets.remove(actorOf(ctx), idOf(ctx));
      ctx.status = 204;
    })
    .post('/:id/access', operator, async (ctx) => {
      const id = idOf(ctx);
      const { machineIds } = validate(AccessRequest, ctx.request.body);
      const granted = await secrets.grants.grant(actorOf(ctx), id, machineIds);
      ctx.status = 201;
      ctx.body = { granted, machine_ids: machineIds };
    })
    .delete('/:id/access', operator, async (ctx) => {
      const id = idOf(ctx);
      const { machineIds } = validate(AccessRequest, ctx.request.body);
      const revoked = await secrets.grants.revoke(actorOf(ctx), id, machineIds);
      ctx.body = { revoked, machine_ids: machineIds };
    })
    .get('/:id/access', operator, async (ctx) => {
      const grants = await secrets.grants.list(idOf(ctx));
      ctx.body = { access_grants: grants.map(presentGrant), total: grants.length };
    });

/** What machines call. */
export const sharedSecretReadRoutes = ({ read }: Pick<SharedSecrets, 'read'>): Router<RequestState> =>
  new Router<RequestState>({ prefix: '/shared-secrets' }).get('/by-name/:name/value', async (ctx) => {
    const claim = validate(MachineHeaders, ctx.headers, 'header');
    const delivery = deliveryOf(ctx.get('Accept'));
    ctx.set('Cache-Control', 'no-store');
    ctx.vary('Accept');
    ctx.body = presentSharedValue(await read(claim, ctx.params['name'] ?? '', delivery, ctx.state.source));
  });
