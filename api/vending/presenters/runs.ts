import type { z } from 'zod';
import type { RunHistory, RunWithSteps } from '../../../activities/vending/provision.js';
import type { Run, StepRecord } from '../../../domain/vending/run.js';
import type {
  ReplayResponse,
  RunHistoryResponse,
  RunListResponse,
  RunResponse,
  RunWithStepsResponse,
} from '../schemas/responses.js';

/** Address of a run's workflow in the Temporal UI. */
export type LinkTo = (workflowId: string, runId: string) => string;

const presentRun = (run: Run, linkTo: LinkTo): z.infer<typeof RunResponse> => ({
  run_id: run.id,
  subscription_id: run.subscriptionId,
  subscription_name: run.subscriptionName,
  status: run.status,
  environment: run.plan?.environment ?? '',
  management_group: run.managementGroup,
  initiative_id: run.initiativeId,
  rbac_roles: [...run.rbacRoles],
  gate_passed: run.gatePassed ?? null,
  errors: [...run.errors],
  plan: [...run.log],
  trigger: run.trigger,
  triggered_by: run.triggeredBy,
  event_id: run.eventId,
  created_at: run.createdAt,
  started_at: run.startedAt ?? null,
  ended_at: run.endedAt ?? null,
  workflow_id: run.workflowId,
  temporal_run_id: run.temporalRunId,
  workflow_url: linkTo(run.workflowId, run.temporalRunId),
});

const presentStep = (step: StepRecord): z.infer<typeof RunWithStepsResponse>['steps'][number] => ({
  name: step.name,
  status: step.status,
  attempts: step.attempts,
  started_at: step.startedAt ?? null,
  ended_at: step.endedAt ?? null,
  summary: step.summary,
  error: step.error,
});

const presentWithSteps = ({ run, steps }: RunWithSteps, linkTo: LinkTo) => ({
  ...presentRun(run, linkTo),
  steps: steps.map(presentStep),
});

/** `next` continues the list when the page is full. */
export const presentRuns = (
  runs: readonly RunWithSteps[],
  limit: number,
  linkTo: LinkTo,
): z.infer<typeof RunListResponse> => ({
  runs: runs.map((one) => presentWithSteps(one, linkTo)),
  next: runs.length === limit ? (runs.at(-1)?.run.id ?? null) : null,
});

export const presentHistory = (
  { latest, lifecycle, earlier }: RunHistory,
  linkTo: LinkTo,
): z.infer<typeof RunHistoryResponse> => ({
  ...presentWithSteps(latest, linkTo),
  lifecycle: lifecycle.map(({ event, at }) => ({ event, at })),
  earlier: earlier.map((run) => presentRun(run, linkTo)),
});

/** A finished run as the replay endpoint tells it. */
export const presentReplay = (run: Run, subscriptionId: string): z.infer<typeof ReplayResponse> => ({
  status: run.status === 'succeeded' ? 'ok' : 'error',
  subscription_id: subscriptionId,
  errors: [...run.errors],
  plan: [...run.log],
});
