import type { Knex } from 'knex';
import { changeMachine } from '../../db/broker/changes.js';
import { recordWipeCompleted } from '../../db/broker/wipes.js';
import type { Change } from '../../db/broker/changes.js';
import { findMachine } from '../../db/broker/machines.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import { findOpenVote } from '../../db/broker/approvals.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { Proposal } from '../../domain/broker/approval.js';
import type { Trigger } from '../../domain/broker/lifecycle.js';
import { refusedTransition, transitions } from '../../domain/broker/lifecycle.js';
import { AppError } from '../../domain/errors.js';
import type { ConfigTokens } from './config-tokens.js';

/** What operators do to machines, each one statement: change, audit row and what it owes, or nothing. */

export const machineNotFound = (machineId: string): AppError =>
  new AppError('not_found', `Machine ${machineId} not found`);

/** The machine, or `not_found`. */
export const requireMachine = async (db: Knex, machineId: string): Promise<MachineRecord> => {
  const machine = await findMachine(db, machineId);
  if (machine === undefined) throw machineNotFound(machineId);
  return machine;
};

const why = async (db: Knex, machineId: string, trigger: Trigger): Promise<AppError> => {
  const { status } = await requireMachine(db, machineId);
  if (!transitions[trigger].from.includes(status)) return refusedTransition(trigger, status);
  const vote = await findOpenVote(db, machineId);
  return vote === undefined
    ? new AppError('conflict', 'the machine changed meanwhile; look at it again')
    : new AppError(
        'conflict',
        `a first vote by ${vote.operatorCn} for role ${vote.role} is open until ${vote.expiresAt}`,
        { code: 'vote_open' },
      );
};

const act = async (db: Knex, change: Change): Promise<MachineRecord> => {
  const changed = await changeMachine(db, change);
  if (changed === undefined) throw await why(db, change.machineId, change.trigger);
  return changed;
};

const quoted = (reason: string | null): string => `reason=${JSON.stringify(reason)}`;

export interface Acts {
  /** Approves with one vote; a role under dual control goes through castVote. */
  readonly approve: (actor: Actor, machineId: string, proposal: Proposal) => Promise<MachineRecord>;
  readonly reject: (actor: Actor, machineId: string, reason: string | null) => Promise<MachineRecord>;
  readonly lock: (actor: Actor, machineId: string, reason: string | null) => Promise<MachineRecord>;
  readonly unlock: (actor: Actor, machineId: string) => Promise<MachineRecord>;
  readonly revoke: (
    actor: Actor,
    machineId: string,
    wipe: boolean,
    reason: string | null,
  ) => Promise<MachineRecord>;
  /** The node, or an operator for it, says that the wipe is done. Saying it again changes nothing. */
  readonly completeWipe: (actor: Actor, machineId: string) => Promise<MachineRecord>;
}

export const createActs = (db: Knex, tokens: ConfigTokens): Acts => {
  const logged = (actor: Actor, action: 'reject' | 'lock' | 'unlock' | 'revoke', detail: string | null) => ({
    action,
    operatorCn: actor.operatorCn,
    detail,
    context: actor.context,
  });
  return {
    approve: (actor, machineId, proposal) => act(db, approval(tokens, actor, machineId, proposal)),
    reject: (actor, machineId, reason) =>
      act(db, { trigger: 'reject', machineId, messages: [], act: logged(actor, 'reject', quoted(reason)) }),
    lock: (actor, machineId, reason) =>
      act(db, {
        trigger: 'lock',
        machineId,
        messages: [{ topic: 'machine-event', payload: { event: 'machine.locked', data: { reason } } }],
        act: logged(actor, 'lock', quoted(reason)),
      }),
    unlock: (actor, machineId) =>
      act(db, { trigger: 'unlock', machineId, messages: [], act: logged(actor, 'unlock', null) }),
    revoke: (actor, machineId, wipe, reason) =>
      act(db, {
        trigger: 'revoke',
        machineId,
        values: [wipe],
        messages: [
          { topic: 'event', payload: { event: 'node.decommissioned', meta: { reason, wipe } } },
          ...(wipe ? [{ topic: 'revoke-and-wipe', payload: {} }] : []),
        ],
        act: logged(
          actor,
          'revoke',
          `${wipe ? 'revoked, wipe requested' : 'revoked, blocked'}; ${quoted(reason)}`,
        ),
      }),
    completeWipe: async (actor, machineId) => {
      const done = await recordWipeCompleted(db, machineId, [{ topic: 'wipe-completed', payload: {} }], {
        action: 'wipe_complete',
        operatorCn: actor.operatorCn,
        detail: null,
        context: actor.context,
      });
      if (done !== undefined) return done;
      const machine = await requireMachine(db, machineId);
      if (machine.wipeCompletedAt !== null) return machine;
      throw new AppError('conflict', 'no wipe was asked of this machine', { code: 'no_wipe_pending' });
    },
  };
};

/** The change of an approval, whether by one vote or by the second of two. */
export const approval = (
  tokens: ConfigTokens,
  actor: Actor,
  machineId: string,
  proposal: Proposal,
  completesVote = false,
): Change => {
  const { sealed } = tokens.mint(machineId);
  return {
    trigger: 'approve',
    machineId,
    completesVote,
    values: [proposal.role, proposal.hostname, proposal.assignedIp, sealed.sha256],
    token: sealed,
    messages: [
      {
        topic: 'event',
        payload: {
          event: 'node.provisioned',
          tokenSha256: sealed.sha256,
          meta: { approved_by: actor.operatorCn },
        },
      },
      { topic: 'build-image', payload: {} },
    ],
    act: {
      action: 'approve',
      operatorCn: actor.operatorCn,
      detail: `role=${proposal.role} hostname=${proposal.hostname ?? 'None'}`,
      context: actor.context,
    },
  };
};
