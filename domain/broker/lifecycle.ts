import { AppError } from '../errors.js';
import type { MachineStatus } from './machine.js';

/** What an operator or a node can do to a machine's status. */
export type Trigger = 'approve' | 'reject' | 'revoke' | 'lock' | 'unlock' | 'attest';

interface Transition {
  readonly from: readonly MachineStatus[];
  readonly to: MachineStatus;
}

/** The whole lifecycle: what is not here is refused (409). */
export const transitions: Readonly<Record<Trigger, Transition>> = {
  approve: { from: ['pending_approval', 'registered'], to: 'registered' },
  reject: { from: ['pending_approval', 'registered'], to: 'rejected' },
  revoke: { from: ['pending_approval', 'registered', 'attested', 'locked'], to: 'revoked' },
  lock: { from: ['attested'], to: 'locked' },
  unlock: { from: ['locked'], to: 'attested' },
  attest: { from: ['registered'], to: 'attested' },
};

/** Statuses in which a machine gets no token and no config, whoever asks. */
export const isBarred = (status: MachineStatus): boolean =>
  status === 'locked' || status === 'revoked' || status === 'rejected';

/** The error of a transition that the table does not have. */
export const refusedTransition = (trigger: Trigger, status: MachineStatus): AppError =>
  new AppError(
    'conflict',
    `cannot ${trigger} a machine that is ${status}; it must be ${transitions[trigger].from.join(' or ')}`,
    { code: 'transition_refused' },
  );

/** What a node is told to do next. */
export type AttestAction = 'none' | 'apply-config' | 'wipe' | 'lock';

/** The action for a machine in `status`, once its attestation has been judged. */
export const attestAction = (
  status: MachineStatus,
  { tokenOutstanding, wipePending }: { readonly tokenOutstanding: boolean; readonly wipePending: boolean },
): AttestAction => {
  switch (status) {
    case 'attested':
      return tokenOutstanding ? 'apply-config' : 'none';
    case 'locked':
      return 'lock';
    case 'revoked':
      return wipePending ? 'wipe' : 'none';
    case 'pending_approval':
    case 'registered':
    case 'rejected':
      return 'none';
  }
};
