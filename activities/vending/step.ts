import { Context } from '@temporalio/activity';
import type { Knex } from 'knex';
import { findRun, recordFacts } from '../../db/vending/runs.js';
import type { RunFacts } from '../../db/vending/runs.js';
import { endStep, noteStepError, startStep } from '../../db/vending/run-steps.js';
import { AppError } from '../../domain/errors.js';
import type { ProvisioningPlan } from '../../domain/vending/plan.js';
import type { Run } from '../../domain/vending/run.js';
import type { StepDefinition } from '../../domain/vending/steps.js';

/** What a step may look at. `errors` are those of the steps before it. */
export interface StepContext {
  readonly run: Run;
  readonly plan: ProvisioningPlan;
  readonly errors: readonly string[];
}

export interface StepResult {
  readonly status: 'done' | 'skipped';
  /** One line for the run's log. */
  readonly summary: string;
  /** Something that went wrong although the step did its work; it counts against the run. */
  readonly problem?: string;
  readonly facts?: RunFacts;
}

/**
 * A step of every run. `perform` must be idempotent: it runs again after a crash, and for a repeated run.
 * It throws AppError: `unavailable` is tried again, any other kind ends the step.
 */
export interface RegisteredStep {
  readonly definition: StepDefinition;
  readonly perform: (context: StepContext) => Promise<StepResult>;
}

/** The part of a step's input and answer that crosses into workflow history. */
export interface StepInput {
  readonly runId: string;
  readonly errors: readonly string[];
}
export type StepReport = Pick<StepResult, 'status' | 'summary' | 'problem'>;

const HEARTBEAT_MS = 2_000;

/** The activity of a step: loads the run, does the work, and keeps the step's record and the run's facts. */
export const stepActivity =
  (db: Knex, { definition: { name }, perform }: RegisteredStep) =>
  async ({ runId, errors }: StepInput): Promise<StepReport> => {
    const run = await findRun(db, runId);
    if (run?.plan === undefined) throw new AppError('not_found', `run ${runId} is not prepared`);
    const context = { run, plan: run.plan, errors };
    await startStep(db, runId, name, Context.current().info.attempt);
    const beat = setInterval(() => Context.current().heartbeat(), HEARTBEAT_MS);
    try {
      const { facts = {}, ...report } = await perform(context);
      await recordFacts(db, runId, facts);
      await endStep(db, runId, { name, error: report.problem ?? '', ...report });
      return report;
    } catch (error) {
      await noteStepError(db, runId, name, error instanceof Error ? error.message : String(error));
      throw error;
    } finally {
      clearInterval(beat);
    }
  };
