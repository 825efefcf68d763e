import { defineQuery } from '@temporalio/workflow';
import type { StepStatus } from '../../domain/vending/run.js';

/** One step as the workflow sees it; times are milliseconds since the epoch. */
export interface StepProgress {
  readonly name: string;
  status: StepStatus;
  startedAt?: number;
  endedAt?: number;
  summary: string;
  error: string;
}

/** Steps of the run so far. */
export const progress = defineQuery<readonly StepProgress[]>('progress');

export interface ProvisionInput {
  readonly runId: string;
}

/** `superseded`: the run was another execution's, nothing was done. */
export interface ProvisionResult {
  readonly outcome: 'succeeded' | 'failed' | 'superseded';
  readonly errors: readonly string[];
}
