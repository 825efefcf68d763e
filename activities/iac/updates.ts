import { createHash, randomUUID } from 'node:crypto';
import { addToOutbox } from '../../db/outbox.js';
import { changeStack, findStack } from '../../db/iac/stacks.js';
import type { StoredUpdate } from '../../db/iac/updates.js';
import { changeUpdate, findUpdate, insertUpdate, lockUpdate } from '../../db/iac/updates.js';
import { AppError } from '../../domain/errors.js';
import type { Json } from '../../domain/iac/json.js';
import { JOURNAL_VERSION } from '../../domain/iac/journal.js';
import type { StackName } from '../../domain/iac/names.js';
import { checkTags } from '../../domain/iac/names.js';
import type { FinalStatus, ProgramKind, Update } from '../../domain/iac/update.js';
import {
  checkWritable,
  completion,
  conflictWith,
  hasLapsed,
  isFinal,
  leaseEnd,
} from '../../domain/iac/update.js';
import type { Caller, IacDeps } from './deps.js';
import { createFinishUpdate, createRequireFree, LAPSED, lockBoth } from './finish-update.js';
import { requireStack } from './stacks.js';

/** Outbox topic: start the workflow that ends a lease nobody renews. */
export const LEASE_TOPIC = 'iac-lease';

export interface Program {
  readonly kind: ProgramKind;
  readonly dryRun: boolean;
  readonly message: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly config: Readonly<Record<string, Json>>;
}

interface StartOptions {
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Journal version that the CLI asks for; 0 = none. */
  readonly journalVersion: number;
}

export interface StartedUpdate {
  readonly version: number;
  readonly token: string;
  readonly tokenExpiresAt: Date;
  readonly journalVersion: number;
}

const hashOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** What the CLI does between announcing an update and its end. */
export const createUpdateCommands = (deps: IacDeps) => {
  const { db, clock } = deps;
  const finish = createFinishUpdate(deps);
  const requireFree = createRequireFree(deps);

  const announce = async (
    name: StackName,
    program: Program,
    caller: Caller,
  ): Promise<{ readonly id: string }> => {
    const stack = await requireStack(db, name);
    const dryRun = program.dryRun || program.kind === 'preview';
    if (!dryRun && stack.activeUpdate !== null) {
      const running = await findUpdate(db, stack.activeUpdate);
      if (running !== undefined && !hasLapsed(running, clock.now())) throw conflictWith(running);
    }
    const id = randomUUID();
    const { kind, message, environment, config } = program;
    await insertUpdate(db, { id, stackId: stack.id, kind, dryRun, message, environment, config, ...caller });
    return { id };
  };

  const start = (name: StackName, updateId: string, options: StartOptions): Promise<StartedUpdate> =>
    db.transaction(async (trx) => {
      const named = await requireStack(trx, name);
      const announced = await findUpdate(trx, updateId);
      if (announced?.stackId !== named.id) throw new AppError('not_found', 'no such update');
      const stack = announced.dryRun ? named : await requireFree(trx, named.id);
      const update = await lockUpdate(trx, updateId);
      if (update?.status !== 'not started') throw new AppError('conflict', 'this update was started before');
      if (options.tags !== undefined) {
        checkTags(options.tags);
        if (!update.dryRun) await changeStack(trx, stack.id, { tags: options.tags });
      }
      const now = clock.now();
      const token = randomUUID();
      const tokenExpiresAt = leaseEnd(now);
      const journalVersion = update.dryRun ? 0 : Math.min(options.journalVersion, JOURNAL_VERSION);
      const started = {
        status: 'running',
        tokenHash: hashOf(token),
        leaseExpiresAt: tokenExpiresAt,
      } as const;
      if (update.dryRun) {
        await changeUpdate(trx, updateId, { ...started, startedAt: now });
        return { version: stack.version, token, tokenExpiresAt, journalVersion };
      }
      const version = stack.version + 1;
      await changeUpdate(trx, updateId, { ...started, startedAt: now, version, journalVersion });
      await changeStack(trx, stack.id, { version, activeUpdate: updateId });
      await addToOutbox(trx, [{ topic: LEASE_TOPIC, key: updateId, payload: { updateId } }]);
      return { version, token, tokenExpiresAt, journalVersion };
    });

  /** Throws `forbidden` when the lease was lost: the CLI stops then. */
  const renew = (updateId: string, seconds: number): Promise<Date> =>
    db.transaction(async (trx) => {
      const update = await lockUpdate(trx, updateId);
      if (update === undefined) throw new AppError('not_found', 'no such update');
      const now = clock.now();
      if (update.status !== 'running') checkWritable({ ...update, dryRun: false }, now);
      if (!update.dryRun) checkWritable(update, now);
      const expires = leaseEnd(now, seconds);
      await changeUpdate(trx, updateId, { leaseExpiresAt: expires });
      return expires;
    });

  const complete = (stackId: string, updateId: string, status: FinalStatus): Promise<void> =>
    db.transaction(async (trx) => {
      const { stack, update } = await lockBoth(trx, stackId, updateId);
      if (completion(update, status) === 'end') await finish(trx, stack, update, status);
    });

  const cancel = async (name: StackName, updateId: string): Promise<void> => {
    const { id } = await requireStack(db, name);
    await db.transaction(async (trx) => {
      const { stack, update } = await lockBoth(trx, id, updateId);
      if (update.status === 'cancelled') return;
      if (isFinal(update.status))
        throw new AppError('conflict', `the update has ended already: ${update.status}`);
      await finish(trx, stack, update, 'cancelled');
    });
  };

  /** Ends the update when its lease has run out; else says in how many milliseconds to look again, `null` = never. */
  const endLapsed = async ({
    updateId,
  }: {
    readonly updateId: string;
  }): Promise<{ readonly waitMs: number | null }> => {
    const found = await findUpdate(db, updateId);
    if (found === undefined) return { waitMs: null };
    return db.transaction(async (trx) => {
      const { stack, update } = await lockBoth(trx, found.stackId, updateId);
      if (update.status !== 'running' || update.leaseExpiresAt === null) return { waitMs: null };
      const waitMs = Date.parse(update.leaseExpiresAt) - clock.now().getTime();
      if (waitMs > 0) return { waitMs };
      await finish(trx, stack, update, 'failed', LAPSED);
      return { waitMs: null };
    });
  };

  /** The update of that id on that stack, for whoever holds the operator's token. */
  const find = async (name: StackName, updateId: string): Promise<Update> => {
    const stack = await requireStack(db, name);
    const update = await findUpdate(db, updateId);
    if (update?.stackId !== stack.id) throw new AppError('not_found', 'no such update');
    return update;
  };

  /** An update with its token's hash, for the check of an update token; `undefined` = none of that id. */
  const findForToken = (updateId: string): Promise<StoredUpdate | undefined> => findUpdate(db, updateId);

  return {
    announce,
    start,
    renew,
    complete,
    cancel,
    endLapsed,
    find,
    findForToken,
    findStack: (name: StackName) => findStack(db, name),
  };
};
