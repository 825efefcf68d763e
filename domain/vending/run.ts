import type { ProvisioningPlan } from './plan.js';
import type { ProvisioningRequest } from './subscription.js';

/** `pending`: recorded, its workflow not yet begun. The last two never change again. */
export type RunStatus = 'pending' | 'running' | 'succeeded' | 'failed';
export type StepStatus = 'pending' | 'running' | 'done' | 'skipped' | 'failed' | 'blocked';

/** Who asked for a run. */
export type Trigger = 'event' | 'replay' | 'job' | 'test';

export interface Run extends ProvisioningRequest {
  readonly id: string;
  /** Canonical form of the subscription id: one key, one run at a time. */
  readonly subscriptionKey: string;
  readonly trigger: Trigger;
  readonly triggeredBy: string;
  readonly eventId: string;
  readonly status: RunStatus;
  readonly plan: ProvisioningPlan | undefined;
  /** The group that the subscription is in now; empty until moved. */
  readonly managementGroup: string;
  readonly initiativeId: string;
  readonly rbacRoles: readonly string[];
  readonly errors: readonly string[];
  /** What was done, one line a step. */
  readonly log: readonly string[];
  readonly gatePassed: boolean | undefined;
  readonly createdAt: string;
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  readonly workflowId: string;
  readonly temporalRunId: string;
}

/** State and timing of one step of a run. */
export interface StepRecord {
  readonly name: string;
  readonly position: number;
  readonly status: StepStatus;
  readonly attempts: number;
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  readonly summary: string;
  readonly error: string;
}

/** How a run or a step ended. */
export interface StepOutcome {
  readonly name: string;
  readonly status: Exclude<StepStatus, 'pending' | 'running'>;
  readonly summary: string;
  readonly error: string;
}

export const LIFECYCLE_EVENTS = ['STARTED', 'COMPLETED', 'SUCCEEDED', 'FAILED'] as const;
export type LifecycleEvent = (typeof LIFECYCLE_EVENTS)[number];

export const PROVISIONED_EVENT = 'SVC.SubscriptionVending.SubscriptionProvisioned';

/** The verdict as the outbound event and the notifications tell it. */
export interface ProvisioningResult {
  readonly subscription_id: string;
  readonly subscription_name: string;
  readonly environment: string;
  readonly management_group: string;
  readonly initiative_id: string;
  readonly rbac_roles: readonly string[];
  readonly errors: readonly string[];
  readonly success: boolean;
}

export const resultOf = (run: Run, errors: readonly string[]): ProvisioningResult => ({
  subscription_id: run.subscriptionId,
  subscription_name: run.subscriptionName,
  environment: run.plan?.environment ?? '',
  management_group: run.managementGroup,
  initiative_id: run.initiativeId,
  rbac_roles: run.rbacRoles,
  errors,
  success: errors.length === 0,
});
