import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Actor } from '../../domain/broker/actor.js';
import type { ApprovalOutcome, Vote } from '../../domain/broker/approval.js';

export interface CastVoteInput {
  readonly vote: Vote;
  readonly actor: Actor;
  readonly windowSeconds: number;
}

/** A vote on a machine; answers when it is durable. */
export const castVote = defineUpdate<ApprovalOutcome, [CastVoteInput]>('castVote');

/** The node was first told to wipe itself. */
export const wipeTold = defineSignal('wipeTold');
/** The node, or an operator for it, reported that the wipe is done. */
export const wipeCompleted = defineSignal('wipeCompleted');

export interface WipeProgress {
  readonly told: boolean;
  readonly completed: boolean;
  readonly overdue: boolean;
}
export const wipeProgress = defineQuery<WipeProgress>('wipeProgress');
