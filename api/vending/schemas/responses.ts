import { z } from 'zod';

export const ErrorResponse = z.object({ detail: z.string() });
export const ValidationErrorResponse = z.object({
  detail: z.array(
    z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string(), type: z.string() }),
  ),
});

export const HealthResponse = z.object({ status: z.literal('ok') });
export const PreflightResponse = z.object({
  subscription_id: z.string(),
  subscription_name: z.string(),
  management_group: z.string(),
  gate_passed: z.boolean(),
  steps: z.array(z.object({ description: z.string(), status: z.enum(['planned', 'blocked']) })),
  errors: z.array(z.string()),
  summary: z.string(),
});
export const ReplayResponse = z.object({
  status: z.enum(['ok', 'error']),
  subscription_id: z.string(),
  errors: z.array(z.string()),
  plan: z.array(z.string()),
});
export const MockEventResponse = z.object({
  status: z.enum(['ok', 'error']),
  message: z.string(),
  subscription_id: z.string(),
});
export const ProcessJobResponse = z.object({
  status: z.enum(['ok', 'dead_lettered']),
  subscription_id: z.string(),
  job_id: z.string(),
});
export const ConfigResponse = z.record(z.string(), z.unknown());

const Job = z.object({
  subscription_id: z.string(),
  subscription_name: z.string(),
  management_group_id: z.string(),
  attempt: z.int(),
  job_id: z.string(),
});
const QueueStats = z.object({
  queue: z.string(),
  approximate_message_count: z.int().optional(),
  error: z.string().optional(),
});
export const JobStatsResponse = z.object({ provisioning: QueueStats, dead_letter: QueueStats });
export const JobListResponse = z.object({ queue: z.string(), count: z.int(), messages: z.array(Job) });
export const ClearResponse = z.object({ queue: z.string(), deleted: z.int() });
export const EnqueueResponse = z.object({ job_id: z.string(), message_id: z.string(), queue: z.string() });
export const FindJobResponse = z.object({
  found: z.boolean(),
  queue: z.string().nullable(),
  job: Job.nullable(),
});

const Timestamp = z.string().nullable();
const RunStep = z.object({
  name: z.string(),
  status: z.enum(['pending', 'running', 'done', 'skipped', 'failed', 'blocked']),
  attempts: z.int(),
  started_at: Timestamp,
  ended_at: Timestamp,
  summary: z.string(),
  error: z.string(),
});
export const RunResponse = z.object({
  run_id: z.string(),
  subscription_id: z.string(),
  subscription_name: z.string(),
  status: z.enum(['pending', 'running', 'succeeded', 'failed']),
  environment: z.string(),
  management_group: z.string(),
  initiative_id: z.string(),
  rbac_roles: z.array(z.string()),
  gate_passed: z.boolean().nullable(),
  errors: z.array(z.string()),
  plan: z.array(z.string()),
  trigger: z.enum(['event', 'replay', 'job', 'test']),
  triggered_by: z.string(),
  event_id: z.string(),
  created_at: z.string(),
  started_at: Timestamp,
  ended_at: Timestamp,
  workflow_id: z.string(),
  temporal_run_id: z.string(),
  workflow_url: z.string(),
});
export const RunWithStepsResponse = RunResponse.extend({ steps: z.array(RunStep) });
export const RunListResponse = z.object({ runs: z.array(RunWithStepsResponse), next: z.string().nullable() });
export const RunHistoryResponse = RunWithStepsResponse.extend({
  lifecycle: z.array(
    z.object({ event: z.enum(['STARTED', 'COMPLETED', 'SUCCEEDED', 'FAILED']), at: z.string() }),
  ),
  earlier: z.array(RunResponse),
});
