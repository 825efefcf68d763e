import { randomUUID } from 'node:crypto';
import type { Acts } from '../../activities/broker/acts.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import type { Actor } from '../../domain/broker/actor.js';
import { BREAK_GLASS } from '../../domain/broker/actor.js';
import type { ApprovalOutcome, Proposal } from '../../domain/broker/approval.js';
import type { Role } from '../../domain/broker/machine.js';
import { AppError } from '../../domain/errors.js';
import type { BrokerCommands } from '../temporal/broker-commands.js';

/** What an approval came to: the machine as it is now, or a vote that waits for another. */
export type Approval =
  | { readonly kind: 'approved'; readonly machine: MachineRecord }
  | Extract<ApprovalOutcome, { kind: 'pending' }>;

interface ApproveDeps {
  readonly acts: Pick<Acts, 'approve'>;
  readonly read: (machineId: string) => Promise<MachineRecord>;
  readonly commands: BrokerCommands;
  readonly dualControlRoles: readonly Role[];
  /** High assurance: the break-glass token is nobody in particular, so it casts no vote. */
  readonly breakGlassMayVote: boolean;
}

/** A role under dual control goes through its machine's window; any other is one statement, without a workflow. */
export const createApprove =
  ({ acts, read, commands, dualControlRoles, breakGlassMayVote }: ApproveDeps) =>
  async (actor: Actor, machineId: string, proposal: Proposal): Promise<Approval> => {
    if (!dualControlRoles.includes(proposal.role)) {
      return { kind: 'approved', machine: await acts.approve(actor, machineId, proposal) };
    }
    if (actor.identity === BREAK_GLASS && !breakGlassMayVote) {
      throw new AppError('forbidden', 'the break-glass token may not vote under dual control', {
        code: 'break_glass_may_not_vote',
      });
    }
    const { operatorCn, identity } = actor;
    const vote = { voteId: randomUUID(), machineId, operatorCn, identity, ...proposal };
    const outcome = await commands.castVote(vote, actor);
    return outcome.kind === 'pending' ? outcome : { kind: 'approved', machine: await read(machineId) };
  };
