import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { addToOutbox } from '../../db/outbox.js';
import type { Stack, StackFilter } from '../../db/iac/stacks.js';
import {
  changeStack,
  findDeletedStack,
  findStack,
  insertStack,
  listStacks,
  projectExists,
  purgeStack,
} from '../../db/iac/stacks.js';
import { findUpdate } from '../../db/iac/updates.js';
import { AppError } from '../../domain/errors.js';
import type { StackName } from '../../domain/iac/names.js';
import { checkTags, showStackName } from '../../domain/iac/names.js';
import type { Update } from '../../domain/iac/update.js';
import type { IacDeps } from './deps.js';
import { createRequireFree } from './finish-update.js';
import { checkedState, saveState } from './state-store.js';

/** Outbox topic: start the workflow that purges a removed stack when its time is over. */
export const PURGE_TOPIC = 'iac-purge';
const DAY_MS = 86_400_000;

/** Throws `not_found`. */
export const requireStack = async (db: Knex, name: StackName): Promise<Stack> => {
  const stack = await findStack(db, name);
  if (stack === undefined) throw new AppError('not_found', `no stack named '${showStackName(name)}' found`);
  return stack;
};

export interface NewStack {
  readonly tags: Readonly<Record<string, string>>;
  readonly config?: unknown;
  /** JSON text of an untyped deployment. */
  readonly stateText?: Uint8Array | undefined;
}

export const createStackCommands = (deps: IacDeps) => {
  const { db, clock, deletedStackDays } = deps;
  const requireFree = createRequireFree(deps);

  const create = async (name: StackName, { tags, config, stateText }: NewStack): Promise<void> => {
    checkTags(tags);
    const state = stateText === undefined ? undefined : await checkedState(stateText);
    const id = randomUUID();
    await db.transaction(async (trx) => {
      if (!(await insertStack(trx, id, name, tags))) {
        throw new AppError('conflict', `stack '${showStackName(name)}' already exists`);
      }
      if (config !== undefined) await changeStack(trx, id, { config });
      if (state === undefined) return;
      await changeStack(trx, id, {
        stateId: await saveState(trx, id, state),
        resourceCount: state.resourceCount,
      });
    });
  };

  const get = async (
    name: StackName,
  ): Promise<{ readonly stack: Stack; readonly running: Update | undefined }> => {
    const stack = await requireStack(db, name);
    const running = stack.activeUpdate === null ? undefined : await findUpdate(db, stack.activeUpdate);
    return { stack, running };
  };

  const setTags = async (name: StackName, tags: Readonly<Record<string, string>>): Promise<void> => {
    checkTags(tags);
    await changeStack(db, (await requireStack(db, name)).id, { tags });
  };

  const setConfig = async (name: StackName, config: unknown): Promise<void> => {
    await changeStack(db, (await requireStack(db, name)).id, { config });
  };

  /** Throws `malformed` with the words by which the CLI gives its hint, when resources are left. */
  const remove = async (name: StackName, force: boolean): Promise<void> => {
    const { id } = await requireStack(db, name);
    await db.transaction(async (trx) => {
      const stack = await requireFree(trx, id);
      if (stack.resourceCount > 0 && !force) {
        throw new AppError('malformed', 'Bad Request: Stack still contains resources.');
      }
      await changeStack(trx, id, { deletedAt: clock.now() });
      await addToOutbox(trx, [
        { topic: PURGE_TOPIC, key: id, payload: { stackId: id, waitMs: deletedStackDays * DAY_MS } },
      ]);
    });
  };

  /** Brings back the last removed stack of that name. */
  const restore = async (name: StackName): Promise<void> => {
    const stack = await findDeletedStack(db, name);
    if (stack === undefined)
      throw new AppError('not_found', `no removed stack named '${showStackName(name)}'`);
    if ((await findStack(db, name)) !== undefined) {
      throw new AppError(
        'conflict',
        `a stack named '${showStackName(name)}' already exists: rename it first`,
      );
    }
    await changeStack(db, stack.id, { deletedAt: null });
  };

  /** Only what was removed long enough ago: a stack that was restored, or removed again, stays. */
  const purge = async ({ stackId }: { readonly stackId: string }): Promise<void> => {
    await purgeStack(db, stackId, new Date(clock.now().getTime() - deletedStackDays * DAY_MS));
  };

  return {
    create,
    get,
    setTags,
    setConfig,
    remove,
    restore,
    purge,
    list: (filter: StackFilter, limit: number) => listStacks(db, filter, limit),
    projectExists: (org: string, project: string) => projectExists(db, org, project),
  };
};
