import { AppError } from '../errors.js';
import type { Role } from './machine.js';

/** What an operator proposes for a machine. `null` = not said. */
export interface Proposal {
  readonly role: Role;
  readonly hostname: string | null;
  readonly assignedIp: string | null;
}

/** A vote under dual control. */
export interface Vote extends Proposal {
  /** UUID of the request that cast it: a repeated activity must not vote twice. */
  readonly voteId: string;
  readonly machineId: string;
  readonly operatorCn: string;
  /** Who really voted: `iss`+`sub`, `cert:<cn>` or `SYSTEM`; two spellings of one name are one person. */
  readonly identity: string;
}

/** The first vote of an open window. */
export interface OpenVote extends Vote {
  readonly expiresAt: string;
}

export const VOTES_REQUIRED = 2;

/** What the callers of approve are told. */
export type ApprovalOutcome =
  | { readonly kind: 'approved' }
  | { readonly kind: 'pending'; readonly votes: number; readonly expiresAt: string };

export type VoteVerdict =
  | { readonly kind: 'first' }
  | { readonly kind: 'repeated'; readonly expiresAt: string }
  | { readonly kind: 'second'; readonly proposal: Proposal; readonly partner: Omit<OpenVote, 'voteId'> };

const agreed = (field: string, first: string | null, second: string | null): string | null => {
  if (second !== null && first !== null && second !== first) {
    throw new AppError('conflict', `the first vote proposes another ${field}: ${first}`, {
      code: 'votes_differ',
    });
  }
  return second ?? first;
};

/** Judges a vote against the open window of its machine. Both votes must mean the same thing. */
export const judgeVote = (open: Omit<OpenVote, 'voteId'> | undefined, vote: Vote): VoteVerdict => {
  if (open === undefined) return { kind: 'first' };
  if (open.role !== vote.role) {
    throw new AppError(
      'conflict',
      `a first vote by ${open.operatorCn} for role ${open.role} is open until ${open.expiresAt}`,
      {
        code: 'votes_differ',
      },
    );
  }
  const proposal = {
    role: vote.role,
    hostname: agreed('hostname', open.hostname, vote.hostname),
    assignedIp: agreed('assigned_ip', open.assignedIp, vote.assignedIp),
  };
  if (open.identity === vote.identity) return { kind: 'repeated', expiresAt: open.expiresAt };
  return { kind: 'second', proposal, partner: open };
};
