import type { Knex } from 'knex';
import type { Stack } from '../../db/iac/stacks.js';
import { changeStack, lockStack } from '../../db/iac/stacks.js';
import { dropUnversionedState, insertVersion, pruneVersions } from '../../db/iac/states.js';
import { changeUpdate, lockUpdate, pruneUpdates } from '../../db/iac/updates.js';
import { AppError } from '../../domain/errors.js';
import type { FinalStatus, Update } from '../../domain/iac/update.js';
import { conflictWith, hasLapsed } from '../../domain/iac/update.js';
import type { IacDeps } from './deps.js';
import { foldUpdate, manifestOf } from './fold.js';
import { saveState } from './state-store.js';

/** A stack and one of its updates, both locked for the transaction, always in this order. */
export const lockBoth = async (
  trx: Knex,
  stackId: string,
  updateId: string,
): Promise<{ readonly stack: Stack; readonly update: Update }> => {
  const stack = await lockStack(trx, stackId);
  const update = await lockUpdate(trx, updateId);
  if (stack === undefined || update?.stackId !== stack.id) throw new AppError('not_found', 'no such update');
  return { stack, update };
};

/**
 * Ends a running update: whatever its result, its journal is folded into the state, since every entry tells of a
 * resource that exists. One transaction with the new version, the lock's release and the final record.
 */
export const createFinishUpdate =
  ({ clock, keepVersions }: IacDeps) =>
  async (
    trx: Knex,
    stack: Stack,
    update: Update,
    status: FinalStatus,
    message = update.message,
  ): Promise<void> => {
    const now = clock.now();
    if (update.dryRun || update.version === null) {
      await changeUpdate(trx, update.id, { status, message, endedAt: now, leaseExpiresAt: null });
      return;
    }
    const folded = await foldUpdate(trx, update.id, stack.stateId, manifestOf(update.cliVersion, now));
    const stateId = folded === undefined ? stack.stateId : await saveState(trx, stack.id, folded);
    const count = folded?.resourceCount ?? stack.resourceCount;
    await insertVersion(trx, stack.id, update.id, { version: update.version, stateId });
    await changeStack(trx, stack.id, {
      stateId,
      resourceCount: count,
      activeUpdate: null,
      lastUpdateAt: now,
    });
    if (stack.stateId !== null) await dropUnversionedState(trx, stack.stateId, stateId);
    await changeUpdate(trx, update.id, {
      status,
      message,
      endedAt: now,
      leaseExpiresAt: null,
      resourceCount: count,
    });
    await pruneVersions(trx, stack.id, keepVersions);
    await pruneUpdates(trx, stack.id, keepVersions);
  };

/** The stack as it is when no update runs on it: a lapsed one is ended first, a living one is a conflict. */
export const createRequireFree = (deps: IacDeps) => {
  const finish = createFinishUpdate(deps);
  return async (trx: Knex, stackId: string): Promise<Stack> => {
    const stack = await lockStack(trx, stackId);
    if (stack === undefined || stack.deletedAt !== null) throw new AppError('not_found', 'no such stack');
    if (stack.activeUpdate === null) return stack;
    const running = await lockUpdate(trx, stack.activeUpdate);
    if (running === undefined) return stack;
    if (!hasLapsed(running, deps.clock.now())) throw conflictWith(running);
    await finish(trx, stack, running, 'failed', LAPSED);
    return (await lockStack(trx, stackId)) ?? stack;
  };
};

export const LAPSED = 'the lease ended without a word from the CLI; what it had done is in the state';
