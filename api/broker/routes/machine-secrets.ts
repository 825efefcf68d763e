import Router from '@koa/router';
import type { MachineSecrets } from '../../../activities/broker/machine-secrets.js';
import { demandedVersion, secretTag } from '../../../domain/broker/secret.js';
import { actorOf } from '../../auth/actor.js';
import type { RequireOperator } from '../../auth/actor.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { uuidInPath, validate } from '../../http/validate.js';
import { presentMachineSecret, presentSealedSecret } from '../presenters/secrets.js';
import {
  CreateMachineSecretRequest,
  MachineHeaders,
  ReplaceMachineSecretRequest,
} from '../schemas/secrets.js';
import { deliveryOf } from './config.js';

const machineIdOf = (ctx: Ctx): string => uuidInPath(ctx.params['machine_id'], 'Machine');
const secretIdOf = (ctx: Ctx): string => uuidInPath(ctx.params['secret_id'], 'Secret');

/** Version that the request demands by `If-Match`. */
export const ifMatch = (ctx: Ctx): number | undefined => demandedVersion(ctx.get('If-Match') || undefined);

export const machineSecretRoutes = (
  secrets: Omit<MachineSecrets, 'read'>,
  operator: RequireOperator,
): Router<RequestState> =>
  new Router<RequestState>({ prefix: '/secrets' })
    .post('/machines/:machine_id/secrets', operator, async (ctx) => {
      const machineId = machineIdOf(ctx);
      const input = validate(CreateMachineSecretRequest, ctx.request.body);
      const secret = await secrets.create(actorOf(ctx), machineId, input);
      ctx.status = 201;
      ctx.set('ETag', secretTag(secret.version));
      ctx.body = presentMachineSecret(secret);
    })
    .get('/machines/:machine_id/secrets', operator, async (ctx) => {
      const found = await secrets.list(machineIdOf(ctx));
      ctx.body = { secrets: found.map(presentMachineSecret), total: found.length };
    })
    .put('/:secret_id', operator, async (ctx) => {
      const secretId = secretIdOf(ctx);
      const input = validate(ReplaceMachineSecretRequest, ctx.request.body);
      const secret = await secrets.replace(actorOf(ctx), secretId, input, ifMatch(ctx));
      ctx.set('ETag', secretTag(secret.version));
      ctx.body = presentMachineSecret(secret);
    })
    .delete('/:secret_id', operator, async (ctx) => {
      await secrets.remove(actorOf(ctx), secretIdOf(ctx));
      ctx.status = 204;
    });

/** What the machine itself calls. */
export const machineSecretReadRoutes = ({ read }: Pick<MachineSecrets, 'read'>): Router<RequestState> =>
  new Router<RequestState>({ prefix: '/secrets' }).get('/machines/:machine_id/secrets/:name', async (ctx) => {
    const machineId = machineIdOf(ctx);
    const claim = validate(MachineHeaders, ctx.headers, 'header');
    const delivery = deliveryOf(ctx.get('Accept'));
    ctx.set('Cache-Control', 'no-store');
    ctx.vary('Accept');
    const format = delivery.encrypted ? delivery.format : undefined;
    ctx.body = presentSealedSecret(
      await read(claim, machineId, ctx.params['name'] ?? '', format, ctx.state.source),
    );
  });
