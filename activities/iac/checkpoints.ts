import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { changeStack } from '../../db/iac/stacks.js';
import type { Stack } from '../../db/iac/stacks.js';
import { dropUnversionedState } from '../../db/iac/states.js';
import { changeUpdate } from '../../db/iac/updates.js';
import { AppError } from '../../domain/errors.js';
import type { TextEdit } from '../../domain/iac/delta.js';
import { applyEdits } from '../../domain/iac/delta.js';
import type { Update } from '../../domain/iac/update.js';
import { checkWritable } from '../../domain/iac/update.js';
import type { IacDeps } from './deps.js';
import { lockBoth } from './finish-update.js';
import { inSlices } from './slices.js';
import type { NewState } from './state-store.js';
import { checkedState, loadText, saveState } from './state-store.js';

const HASH_AT_ONCE = 4_194_304;

export interface Delta {
  /** Lower-case hex SHA-256 of the whole resulting text. */
  readonly checkpointHash: string;
  readonly sequenceNumber: number;
  readonly edits: readonly TextEdit[];
}

/** Whole states that an update without a journal sends as it goes; each is the stack's state from then on. */
export const createCheckpointCommands = (deps: IacDeps) => {
  const { db, clock, maxStateBytes } = deps;

  /** Locks, checks that the update may write, and makes `state` the current one. */
  const replace = async (
    trx: Knex,
    stack: Stack,
    update: Update,
    state: NewState,
    numbered: { readonly sequence: number; readonly hash: string } | undefined,
  ): Promise<void> => {
    const stateId = await saveState(trx, stack.id, state);
    await changeStack(trx, stack.id, { stateId, resourceCount: state.resourceCount });
    if (stack.stateId !== null) await dropUnversionedState(trx, stack.stateId, stateId);
    if (numbered !== undefined) {
      await changeUpdate(trx, update.id, {
        checkpointSequence: numbered.sequence,
        checkpointHash: numbered.hash,
      });
    }
  };

  const locked = async (trx: Knex, stackId: string, updateId: string) => {
    const both = await lockBoth(trx, stackId, updateId);
    checkWritable(both.update, clock.now());
    return both;
  };

  const save = async (stackId: string, updateId: string, text: Uint8Array): Promise<void> => {
    const state = await checkedState(text);
    await db.transaction(async (trx) => {
      const { stack, update } = await locked(trx, stackId, updateId);
      await replace(trx, stack, update, state, undefined);
    });
  };

  /** A late repeat of an older checkpoint must not undo a newer one: `conflict`. */
  const saveVerbatim = async (
    stackId: string,
    updateId: string,
    sequence: number,
    text: Uint8Array,
  ): Promise<void> => {
    const state = await checkedState(text);
    const hash = await sha256(text);
    await db.transaction(async (trx) => {
      const { stack, update } = await locked(trx, stackId, updateId);
      if (sequence < update.checkpointSequence) throw outOfOrder(sequence, update.checkpointSequence);
      await replace(trx, stack, update, state, { sequence, hash });
    });
  };

  /** Any error makes the CLI send the whole state instead, under the same number. */
  const saveDelta = (stackId: string, updateId: string, delta: Delta): Promise<void> =>
    db.transaction(async (trx) => {
      const { stack, update } = await locked(trx, stackId, updateId);
      const last = update.checkpointSequence;
      if (delta.sequenceNumber === last && delta.checkpointHash === update.checkpointHash) return;
      if (delta.sequenceNumber !== last + 1) throw outOfOrder(delta.sequenceNumber, last);
      if (stack.stateId === null || update.checkpointHash === null) {
        throw new AppError('conflict', 'a delta needs a whole checkpoint before it', {
          code: 'no_checkpoint',
        });
      }
      const text = await loadText(trx, stack.stateId);
      const changed = await inSlices(applyEdits(text, delta.edits, maxStateBytes));
      const hash = await sha256(changed);
      if (hash !== delta.checkpointHash) {
        throw new AppError('malformed', 'the delta does not give the text whose hash it names', {
          code: 'hash',
        });
      }
      await replace(trx, stack, update, await checkedState(changed), { sequence: last + 1, hash });
    });

  return { save, saveVerbatim, saveDelta };
};

const outOfOrder = (got: number, last: number): AppError =>
  new AppError('conflict', `checkpoint ${got} does not follow checkpoint ${last}`, { code: 'sequence' });

const sha256 = (bytes: Uint8Array): Promise<string> => inSlices(digest(bytes));

function* digest(bytes: Uint8Array): Generator<undefined, string, undefined> {
  const hash = createHash('sha256');
  for (let at = 0; at < bytes.length; at += HASH_AT_ONCE) {
    hash.update(bytes.subarray(at, at + HASH_AT_ONCE));
    yield;
  }
  return hash.digest('hex');
}
