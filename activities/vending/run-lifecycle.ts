import type { Knex } from 'knex';
import { addSteps, endStep } from '../../db/vending/run-steps.js';
import { beginRun, endRun, findRun, recordFacts } from '../../db/vending/runs.js';
import { AppError } from '../../domain/errors.js';
import { planRun } from '../../domain/vending/plan.js';
import type { GateOutcome, PlanRules } from '../../domain/vending/plan.js';
import type { Run, StepOutcome } from '../../domain/vending/run.js';
import type { StepDefinition } from '../../domain/vending/steps.js';
import { readTags } from '../../domain/vending/tags.js';
import type { DryRunDeps } from './dry-run.js';
import { passGates } from './gates.js';

export interface RunLifecycleDeps extends DryRunDeps {
  readonly db: Knex;
  readonly rules: PlanRules;
}

/** A run taken by a workflow execution: what it does, in order. */
export interface BegunRun {
  readonly subscriptionId: string;
  readonly steps: readonly StepDefinition[];
}

export interface Ending {
  readonly runId: string;
  readonly temporalRunId: string;
  readonly errors: readonly string[];
  readonly log: readonly string[];
  readonly steps: readonly StepOutcome[];
}

/** The activities around the steps: begin, prepare, gates, end. */
export const createRunLifecycle = ({ db, rules, tagNames, gates, readSubscription }: RunLifecycleDeps) => ({
  /** Null when the run is another execution's, or over. */
  beginRun: async ({
    runId,
    temporalRunId,
  }: {
    runId: string;
    temporalRunId: string;
  }): Promise<BegunRun | null> => {
    const run = await beginRun(db, runId, temporalRunId);
    if (run === undefined) return null;
    await addSteps(
      db,
      runId,
      rules.steps.map(({ name }) => name),
    );
    return { subscriptionId: run.subscriptionId, steps: rules.steps };
  },

  /** Reads the tags and stores the plan; a subscription that cannot be read is an error, never "no tags". */
  prepareRun: async ({ runId }: { runId: string }): Promise<{ environment: string }> => {
    const run = await requireRun(db, runId);
    const found = await readSubscription(run.subscriptionId);
    const plan = planRun(rules, run.managementGroupId, readTags(found.tags, tagNames));
    const subscriptionName = run.subscriptionName || found.displayName;
    await recordFacts(db, runId, { plan, subscriptionName });
    return { environment: plan.environment };
  },

  checkGates: async ({ runId }: { runId: string }): Promise<GateOutcome> => {
    const run = await requireRun(db, runId);
    const outcome = await passGates(gates, run.plan?.ticket ?? '');
    await recordFacts(db, runId, { gatePassed: outcome.passed });
    return outcome;
  },

  /** Verdict, step records and lifecycle events in one transaction. */
  endRun: ({ runId, temporalRunId, errors, log, steps }: Ending): Promise<void> =>
    db.transaction(async (trx) => {
      if (!(await endRun(trx, runId, temporalRunId, { errors, log }))) return;
      for (const step of steps) await endStep(trx, runId, step);
    }),
});

export type RunLifecycle = ReturnType<typeof createRunLifecycle>;

const requireRun = async (db: Knex, runId: string): Promise<Run> => {
  const run = await findRun(db, runId);
  if (run === undefined) throw new AppError('not_found', `run ${runId} does not exist`);
  return run;
};
