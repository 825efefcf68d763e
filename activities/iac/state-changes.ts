import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { changeStack, renameStackRow } from '../../db/iac/stacks.js';
import type { Stack } from '../../db/iac/stacks.js';
import { changeUpdate, insertUpdate } from '../../db/iac/updates.js';
import { AppError } from '../../domain/errors.js';
import type { StackName } from '../../domain/iac/names.js';
import { showStackName } from '../../domain/iac/names.js';
import { renameDeployment } from '../../domain/iac/rename.js';
import type { Caller, IacDeps } from './deps.js';
import { createFinishUpdate, createRequireFree, lockBoth } from './finish-update.js';
import { inSlices } from './slices.js';
import { requireStack } from './stacks.js';
import type { NewState } from './state-store.js';
import { checkedState, loadState, printedState, saveState } from './state-store.js';

/** Changes of the state that happen in one call: import and rename. Each is an update of its own in the history. */
export const createStateChanges = (deps: IacDeps) => {
  const { db, clock } = deps;
  const requireFree = createRequireFree(deps);
  const finish = createFinishUpdate(deps);

  const record = async (
    trx: Knex,
    before: Stack,
    kind: 'import' | 'rename',
    message: string,
    state: NewState | undefined,
    caller: Caller,
  ): Promise<string> => {
    const id = randomUUID();
    const version = before.version + 1;
    const environment = { 'pulumi.version': caller.cliVersion };
    await insertUpdate(trx, {
      id,
      stackId: before.id,
      kind,
      dryRun: false,
      message,
      environment,
      config: {},
      ...caller,
    });
    await changeUpdate(trx, id, { status: 'running', version, startedAt: clock.now() });
    await changeStack(trx, before.id, {
      version,
      ...(state === undefined
        ? {}
        : { stateId: await saveState(trx, before.id, state), resourceCount: state.resourceCount }),
    });
    const { stack, update } = await lockBoth(trx, before.id, id);
    await finish(trx, stack, update, 'succeeded');
    return id;
  };

  /** Stores the text byte for byte. Returns the id of the update that did it. */
  const importState = async (name: StackName, text: Uint8Array, caller: Caller): Promise<string> => {
    const { id } = await requireStack(db, name);
    const state = await checkedState(text);
    return db.transaction(async (trx) => {
      const stack = await requireFree(trx, id);
      return record(trx, stack, 'import', 'state imported', state, caller);
    });
  };

  const rename = async (from: StackName, to: StackName, caller: Caller): Promise<void> => {
    const { id } = await requireStack(db, from);
    try {
      await db.transaction(async (trx) => {
        const stack = await requireFree(trx, id);
        const state = await inSlices(renameDeployment(await loadState(trx, stack.stateId), from, to));
        await renameStackRow(trx, id, from, to);
        if (stack.tags['pulumi:project'] !== undefined) {
          await changeStack(trx, id, { tags: { ...stack.tags, 'pulumi:project': to.project } });
        }
        const written = stack.stateId === null ? undefined : await printedState(state);
        await record(trx, stack, 'rename', `renamed from ${showStackName(from)}`, written, caller);
      });
    } catch (error) {
      throw isTaken(error) ? new AppError('conflict', `stack '${showStackName(to)}' already exists`) : error;
    }
  };

  return { importState, rename };
};

const isTaken = (error: unknown): boolean => (error as { code?: unknown }).code === '23505';
