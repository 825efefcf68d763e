import { randomUUID } from 'node:crypto';
import type { Acts } from '../../activities/broker/acts.js';
import type { Actor } from '../../domain/broker/actor.js';
import { BREAK_GLASS } from '../../domain/broker/actor.js';
import type { ApprovalOutcome, Proposal } from '../../domain/broker/approval.js';
import type { Role } from '../../domain/broker/machine.js';
import { AppError } from '../../domain/errors.js';
import type { BrokerCommands } from '../temporal/broker-commands.js';

interface ApproveDeps {
  readonly acts: Pick<Acts, 'approve'>;
  readonly commands: BrokerCommands;
  readonly dualControlRoles: readonly Role[];
  /** High assurance: the break-glass token is nobody in particular, so it casts no vote. */
  readonly breakGlassMayVote: boolean;
}

/** A role under dual control goes through its machine's window; any other is one statement, without a workflow. */
export const createApprove =
  ({ acts, commands, dualControlRoles, breakGlassMayVote }: ApproveDeps) =>
  async (actor: Actor, machineId: string, proposal: Proposal): Promise<ApprovalOutcome> => {
    if (!dualControlRoles.includes(proposal.role)) {
      await acts.approve(actor, machineId, proposal);
      return { kind: 'approved' };
    }
    if (actor.identity === BREAK_GLASS && !breakGlassMayVote) {
      throw new AppError('forbidden', 'the break-glass token may not vote under dual control', {
        code: 'break_glass_may_not_vote',
      });
    }
    const { operatorCn, identity } = actor;
    return commands.castVote({ voteId: randomUUID(), machineId, operatorCn, identity, ...proposal }, actor);
  };
