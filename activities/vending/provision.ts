import type { Knex } from 'knex';
import { stepsOf } from '../../db/vending/run-steps.js';
import { lifecycleOf } from '../../db/vending/lifecycle.js';
import { findRun, listRuns, runsOfSubscription } from '../../db/vending/runs.js';
import type { RunFilter } from '../../db/vending/runs.js';
import { AppError } from '../../domain/errors.js';
import type { LifecycleEvent, Run, StepRecord, Trigger } from '../../domain/vending/run.js';
import { isSubscriptionId, subscriptionKey } from '../../domain/vending/subscription.js';
import type { ProvisioningRequest } from '../../domain/vending/subscription.js';
import { inboxEntry } from './inbox.js';
import type { Inbox } from './inbox.js';

export interface ProvisionOrigin {
  readonly trigger: Trigger;
  readonly triggeredBy: string;
  readonly source: string;
  readonly eventId?: string;
}

/** Asks for a run and waits for its end; undefined when it is still running after `waitMs`. */
export const createProvision =
  (db: Knex, inbox: Inbox) =>
  async (request: ProvisioningRequest, origin: ProvisionOrigin, waitMs: number): Promise<Run | undefined> => {
    const entry = inboxEntry(request, origin);
    await inbox.add([entry]);
    const [state] = await inbox.settled([entry], waitMs);
    if (state?.runId === undefined || (state.status !== 'succeeded' && state.status !== 'failed'))
      return undefined;
    return findRun(db, state.runId);
  };

export type Provision = ReturnType<typeof createProvision>;

export interface RunWithSteps {
  readonly run: Run;
  readonly steps: readonly StepRecord[];
}
export interface RunHistory {
  readonly latest: RunWithSteps;
  readonly lifecycle: readonly { readonly event: LifecycleEvent; readonly at: string }[];
  readonly earlier: readonly Run[];
}

const HISTORY = 20;

/** The read model of the runs. */
export const createRunQueries = (db: Knex) => ({
  list: async (filter: RunFilter): Promise<readonly RunWithSteps[]> => {
    const runs = await listRuns(db, filter);
    const steps = await stepsOf(
      db,
      runs.map(({ id }) => id),
    );
    return runs.map((run) => ({ run, steps: steps.get(run.id) ?? [] }));
  },

  /** The latest run of a subscription with its steps, and the ones before. Throws `not_found`. */
  ofSubscription: async (subscriptionId: string): Promise<RunHistory> => {
    const runs = isSubscriptionId(subscriptionId)
      ? await runsOfSubscription(db, subscriptionKey(subscriptionId), HISTORY)
      : [];
    const [run, ...earlier] = runs;
    if (run === undefined) throw new AppError('not_found', 'no run of this subscription');
    const steps = (await stepsOf(db, [run.id])).get(run.id) ?? [];
    return { latest: { run, steps }, lifecycle: await lifecycleOf(db, run.id), earlier };
  },
});

export type RunQueries = ReturnType<typeof createRunQueries>;
