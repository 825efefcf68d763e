import Router from '@koa/router';
import type { Acts } from '../../../activities/broker/acts.js';
import type { ApprovalRequest } from '../../../db/broker/approvals.js';
import type { MachineFilter, MachineRecord } from '../../../db/broker/machines.js';
import type { Actor } from '../../../domain/broker/actor.js';
import type { Proposal } from '../../../domain/broker/approval.js';
import type { Machine } from '../../../domain/broker/machine.js';
import { actorOf } from '../../auth/actor.js';
import type { RequireOperator } from '../../auth/actor.js';
import type { Ctx, RequestState } from '../../http/state.js';
import { setPageHeaders } from '../../http/page-headers.js';
import { uuidInPath, validate } from '../../http/validate.js';
import type { MachineTrust } from '../../../db/broker/attestation-keys.js';
import type { Approval } from '../approve.js';
import { presentApproval, presentListEntry, presentMachine, presentPending } from '../presenters/machines.js';
import { ApproveRequest, MachinesQuery, ReasonRequest, RevokeRequest } from '../schemas/machines.js';

export interface MachineUseCases extends Omit<Acts, 'approve'> {
  readonly list: (
    filter: MachineFilter,
  ) => Promise<{ readonly machines: readonly Machine[]; readonly total: number }>;
  readonly read: (machineId: string) => Promise<MachineRecord>;
  /** One vote or, for a role under dual control, one of two. */
  readonly approve: (actor: Actor, machineId: string, proposal: Proposal) => Promise<Approval>;
  /** AK, observations and maker of a machine, for its MachineDetail. */
  readonly trustOf: (machineId: string) => Promise<MachineTrust>;
  readonly openVotes: (machineId: string) => Promise<readonly ApprovalRequest[]>;
}

const machineIdOf = (ctx: Ctx): string => {
  const machineId = uuidInPath(ctx.params['machine_id'], 'Machine');
  ctx.state.logFields = { ...ctx.state.logFields, machineId };
  return machineId;
};

export const machineRoutes = (useCases: MachineUseCases, operator: RequireOperator): Router<RequestState> => {
  const detail = async (machine: MachineRecord) =>
    presentMachine(machine, await useCases.trustOf(machine.machineId));
  return new Router<RequestState>({ prefix: '/machines' })
    .get('/', operator, async (ctx) => {
      const filter = validate(MachinesQuery, ctx.query, 'query');
      const { machines, total } = await useCases.list(filter);
      setPageHeaders(ctx, { ...filter, total });
      ctx.body = machines.map(presentListEntry);
    })
    .get('/:machine_id', operator, async (ctx) => {
      ctx.body = await detail(await useCases.read(machineIdOf(ctx)));
    })
    .get('/:machine_id/approvals', operator, async (ctx) => {
      ctx.body = (await useCases.openVotes(machineIdOf(ctx))).map(presentApproval);
    })
    .post('/:machine_id/approve', operator, async (ctx) => {
      const machineId = machineIdOf(ctx);
      const proposal = validate(ApproveRequest, ctx.request.body);
      const outcome = await useCases.approve(actorOf(ctx), machineId, proposal);
      ctx.status = outcome.kind === 'pending' ? 202 : 200;
      ctx.body =
        outcome.kind === 'pending' ? presentPending(machineId, outcome) : await detail(outcome.machine);
    })
    .post('/:machine_id/reject', operator, async (ctx) => {
      const machineId = machineIdOf(ctx);
      const { reason } = validate(ReasonRequest, ctx.request.body ?? {});
      ctx.body = await detail(await useCases.reject(actorOf(ctx), machineId, reason));
    })
    .post('/:machine_id/revoke', operator, async (ctx) => {
      const machineId = machineIdOf(ctx);
      const { wipe, reason } = validate(RevokeRequest, ctx.request.body ?? {});
      ctx.body = await detail(await useCases.revoke(actorOf(ctx), machineId, wipe, reason));
    })
    .post('/:machine_id/lock', operator, async (ctx) => {
      const machineId = machineIdOf(ctx);
      const { reason } = validate(ReasonRequest, ctx.request.body ?? {});
      ctx.body = await detail(await useCases.lock(actorOf(ctx), machineId, reason));
    })
    .post('/:machine_id/wipe-complete', operator, async (ctx) => {
      ctx.body = await detail(await useCases.completeWipe(actorOf(ctx), machineIdOf(ctx)));
    })
    .post('/:machine_id/unlock', operator, async (ctx) => {
      ctx.body = await detail(await useCases.unlock(actorOf(ctx), machineIdOf(ctx)));
    });
};
