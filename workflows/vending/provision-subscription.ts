import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  rootCause,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { BegunRun, RunLifecycle } from '../../activities/vending/run-lifecycle.js';
import type { StepInput, StepReport } from '../../activities/vending/step.js';
import type { StepOutcome } from '../../domain/vending/run.js';
import type { Patience, StepDefinition } from '../../domain/vending/steps.js';
import { cloudWrite, databaseStep, gateCheck, notification, serviceCall } from '../options.js';
import { searchAttributes } from '../search-attributes.js';
import { progress } from './messages.js';
import type { ProvisionInput, ProvisionResult, StepProgress } from './messages.js';

type StepActivities = Record<string, (input: StepInput) => Promise<StepReport>>;

const { beginRun, endRun } = proxyLocalActivities<RunLifecycle>(databaseStep);
const { prepareRun } = proxyActivities<RunLifecycle>(cloudWrite);
const { checkGates } = proxyActivities<RunLifecycle>(gateCheck);
const stepActivities: Record<Patience, StepActivities> = {
  replication: proxyActivities<StepActivities>(cloudWrite),
  service: proxyActivities<StepActivities>(serviceCall),
  message: proxyActivities<StepActivities>(notification),
};

/**
 * Provisions one subscription: tags, gates, then the steps in their order. A failing step is recorded and the others go on;
 * a failing gate ends the run. What happened is written whatever happened, even after a cancellation.
 */
export async function provisionSubscription({ runId }: ProvisionInput): Promise<ProvisionResult> {
  const { runId: temporalRunId } = workflowInfo();
  const run = await beginRun({ runId, temporalRunId });
  if (run === null) return { outcome: 'superseded', errors: [] };
  upsertSearchAttributes([{ key: searchAttributes.subscriptionId, value: run.subscriptionId }]);

  const steps = run.steps.map(({ name }): StepProgress => ({
    name,
    status: 'pending',
    summary: '',
    error: '',
  }));
  setHandler(progress, () => steps);
  const errors: string[] = [];
  const log: string[] = [];
  try {
    await perform({ runId, run, steps, errors, log });
  } catch (error) {
    errors.push(isCancellation(error) ? 'the run was cancelled' : textOf(error));
  }

  const outcome = errors.length === 0 ? 'succeeded' : 'failed';
  await CancellationScope.nonCancellable(() =>
    endRun({ runId, temporalRunId, errors, log, steps: steps.map(toOutcome) }),
  );
  upsertSearchAttributes([{ key: searchAttributes.outcome, value: outcome }]);
  return { outcome, errors };
}

interface Work {
  readonly runId: string;
  readonly run: BegunRun;
  readonly steps: readonly StepProgress[];
  readonly errors: string[];
  readonly log: string[];
}

const perform = async ({ runId, run, steps, errors, log }: Work): Promise<void> => {
  const { environment } = await prepareRun({ runId });
  upsertSearchAttributes([{ key: searchAttributes.environment, value: environment }]);
  const gate = await checkGates({ runId });
  if (!gate.passed) {
    errors.push(gate.error);
    log.push(`[gate] ${gate.error}`);
    return;
  }
  if (gate.note !== undefined) log.push(gate.note);
  for (const [index, definition] of run.steps.entries()) {
    const step = steps[index];
    if (step === undefined) continue;
    const problem = await performStep(definition, step, { runId, errors });
    log.push(`[${step.name}] ${step.summary || step.error}`);
    if (problem === undefined || definition.kind === 'notification') continue;
    errors.push(`${step.name}: ${problem}`);
    if (definition.stopsRun === true && step.status === 'failed') return;
  }
};

/** Runs one step; returns what counts against the run. Only a cancellation is thrown. */
const performStep = async (
  { name, patience }: StepDefinition,
  step: StepProgress,
  input: StepInput,
): Promise<string | undefined> => {
  step.status = 'running';
  step.startedAt = Date.now();
  try {
    const report = await stepActivities[patience][name]?.(input);
    step.status = report?.status ?? 'skipped';
    step.summary = report?.summary ?? '';
    step.error = report?.problem ?? '';
    return report?.problem;
  } catch (error) {
    step.status = 'failed';
    step.error = isCancellation(error) ? 'cancelled' : textOf(error);
    if (isCancellation(error)) throw error;
    return step.error;
  } finally {
    step.endedAt = Date.now();
  }
};

/** What the far end said, or which time limit passed. */
const textOf = (error: unknown): string => {
  if (!(error instanceof ActivityFailure)) return error instanceof Error ? error.message : String(error);
  const cause = error.cause instanceof ApplicationFailure ? error.cause.message : rootCause(error);
  return cause ?? error.message;
};

/** Steps that never ran were kept from running. */
const toOutcome = ({ name, status, summary, error }: StepProgress): StepOutcome => ({
  name,
  status: status === 'pending' || status === 'running' ? 'blocked' : status,
  summary,
  error,
});
