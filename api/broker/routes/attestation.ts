import Router from '@koa/router';
import type { AkActivation } from '../../../activities/broker/ak-activate.js';
import type { PcrPolicies } from '../../../activities/broker/pcr-policies.js';
import type { WipeReport } from '../../../activities/broker/report-wipe.js';
import type { MachineRecord } from '../../../db/broker/machines.js';
import { normalizeFingerprint } from '../../../domain/broker/fingerprint.js';
import { AppError } from '../../../domain/errors.js';
import { actorOf } from '../../auth/actor.js';
import type { RequireOperator } from '../../auth/actor.js';
import { nodeContext } from '../../auth/node-context.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { uuidInPath, validate } from '../../http/validate.js';
import { presentActivated, presentChallenge, presentPcrPolicy } from '../presenters/attestation.js';
import { AkActivateRequest, PcrPolicyRequest, roleInPath, WipeProof } from '../schemas/attestation.js';

export const akActivateRoutes = ({ begin, complete }: AkActivation): Router<RequestState> =>
  new Router<RequestState>().post('/machines/:machine_id/ak-activate', async (ctx) => {
    const machineId = uuidInPath(ctx.params['machine_id'], 'Machine');
    ctx.state.logFields = { machineId };
    const body = validate(AkActivateRequest, ctx.request.body);
    ctx.set('Cache-Control', 'no-store');
    if (body.step === 'begin') {
      const ekFingerprint = normalizeFingerprint(body.ekFingerprint);
      ctx.body = presentChallenge(await begin(machineId, { ekFingerprint, akPublic: body.akPublic }));
    } else {
      ctx.body = presentActivated(await complete(machineId, { ...body, context: nodeContext(ctx) }));
    }
  });

/** A node proves by its AK that its wipe is done; a call without such a proof goes on to the operators' route. */
export const wipeReportRoutes = (
  report: (machineId: string, proof: WipeReport) => Promise<MachineRecord>,
): Router<RequestState> =>
  new Router<RequestState>().post('/machines/:machine_id/wipe-complete', async (ctx, next) => {
    const proof = WipeProof.safeParse(ctx.request.body);
    if (!proof.success) {
      await next();
      return;
    }
    const machineId = uuidInPath(ctx.params['machine_id'], 'Machine');
    ctx.state.logFields = { machineId };
    const machine = await report(machineId, { ...proof.data, context: nodeContext(ctx) });
    ctx.body = { machine_id: machineId, status: machine.status, wipe_completed_at: machine.wipeCompletedAt };
  });

const roleOf = (ctx: Ctx) => {
  const role = roleInPath.safeParse(ctx.params['role']);
  if (!role.success) throw new AppError('not_found', 'no such role');
  return role.data;
};

export const pcrPolicyRoutes = (policies: PcrPolicies, operator: RequireOperator): Router<RequestState> =>
  new Router<RequestState>({ prefix: '/pcr-policies' })
    .get('/:role', operator, async (ctx) => {
      ctx.body = presentPcrPolicy(await policies.read(roleOf(ctx)));
    })
    .put('/:role', operator, async (ctx) => {
      const role = roleOf(ctx);
      const policy = validate(PcrPolicyRequest, ctx.request.body);
      ctx.body = presentPcrPolicy(await policies.put(actorOf(ctx), role, policy));
    })
    .delete('/:role', operator, async (ctx) => {
      await policies.remove(actorOf(ctx), roleOf(ctx));
      ctx.status = 204;
    });
