import type { Knex } from 'knex';
import {
  closeLapsedVote,
  consumeVote,
  findOpenVote,
  findVoteOutcome,
  lockMachine,
  openVote,
} from '../../db/broker/approvals.js';
import { appendAudit } from '../../db/broker/audit.js';
import { changeMachine } from '../../db/broker/changes.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { ApprovalOutcome, Vote } from '../../domain/broker/approval.js';
import { VOTES_REQUIRED, judgeVote } from '../../domain/broker/approval.js';
import type { MachineStatus } from '../../domain/broker/machine.js';
import { refusedTransition, transitions } from '../../domain/broker/lifecycle.js';
import { approval, machineNotFound } from './acts.js';
import type { ConfigTokens } from './config-tokens.js';

export interface CastVote {
  readonly vote: Vote;
  readonly actor: Actor;
  readonly windowSeconds: number;
}

export interface VoteActivities {
  /** Records a first vote, or approves by a second one; all of it one transaction under the machine's row lock. */
  readonly castVote: (input: CastVote) => Promise<ApprovalOutcome>;
  /** Milliseconds that the open window has left; a lapsed one is closed, and 0 means that none is open. */
  readonly closeLapsedWindow: (machineId: string) => Promise<number>;
}

export const createVoteActivities = (db: Knex, tokens: ConfigTokens): VoteActivities => ({
  castVote: (input) => db.transaction((trx) => castInside(trx, tokens, input)),
  closeLapsedWindow: (machineId) => closeLapsedVote(db, machineId),
});

const castInside = async (
  trx: Knex.Transaction,
  tokens: ConfigTokens,
  input: CastVote,
): Promise<ApprovalOutcome> => {
  const { vote, windowSeconds } = input;
  const status = (await lockMachine(trx, vote.machineId)) as MachineStatus | undefined;
  if (status === undefined) throw machineNotFound(vote.machineId);
  const before = await findVoteOutcome(trx, vote.voteId);
  if (before !== undefined) return before;
  if (!transitions.approve.from.includes(status)) throw refusedTransition('approve', status);
  const open = await findOpenVote(trx, vote.machineId);
  const verdict = judgeVote(open, vote);
  switch (verdict.kind) {
    case 'repeated':
      return { kind: 'pending', votes: 1, expiresAt: verdict.expiresAt };
    case 'first': {
      const expiresAt = await openVote(trx, vote, windowSeconds);
      await logVote(trx, input, status, `vote 1 of ${VOTES_REQUIRED} for role=${vote.role}`);
      return { kind: 'pending', votes: 1, expiresAt };
    }
    case 'second': {
      if (open !== undefined) await consumeVote(trx, open.id, vote.voteId);
      const change = approval(tokens, input.actor, vote.machineId, verdict.proposal, true);
      await logVote(
        trx,
        input,
        status,
        `vote 2 of ${VOTES_REQUIRED} for role=${vote.role}, first by ${verdict.partner.operatorCn}`,
      );
      await changeMachine(trx, change);
      return { kind: 'approved' };
    }
  }
};

const logVote = (
  trx: Knex.Transaction,
  { actor, vote }: CastVote,
  status: string,
  detail: string,
): Promise<number> =>
  appendAudit(trx, {
    action: 'approve_vote',
    operatorCn: actor.operatorCn,
    machineId: vote.machineId,
    prevState: status,
    newState: null,
    detail,
    context: actor.context,
  });
