import type { z } from 'zod';
import { planLines } from '../../../domain/vending/plan.js';
import type { DryRun } from '../../../domain/vending/plan.js';
import type { PreflightResponse, ReplayResponse } from '../schemas/responses.js';

const errorsOf = ({ gate, doubts }: DryRun): string[] => [...(gate.passed ? [] : [gate.error]), ...doubts];

/** The plan of a preflight: every step, planned or blocked by the gate. */
export const presentPreflight = (
  dryRun: DryRun,
  request: { readonly subscription_id: string; readonly subscription_name: string },
): z.infer<typeof PreflightResponse> => {
  const { plan, gate } = dryRun;
  const errors = errorsOf(dryRun);
  const note =
    gate.passed && gate.note !== undefined ? [{ description: gate.note, status: 'planned' as const }] : [];
  const status = gate.passed ? ('planned' as const) : ('blocked' as const);
  return {
    subscription_id: request.subscription_id,
    subscription_name: request.subscription_name,
    management_group: plan.managementGroup,
    gate_passed: gate.passed,
    steps: [...note, ...plan.steps.map(({ description }) => ({ description, status }))],
    errors,
    summary:
      errors.length === 0 ? `OK: ${plan.steps.length} steps planned` : `FAILED: ${errors.length} issue(s)`,
  };
};

/** A dry run as the replay endpoint tells it. */
export const presentDryRun = (dryRun: DryRun, subscriptionId: string): z.infer<typeof ReplayResponse> => {
  const errors = errorsOf(dryRun);
  return {
    status: errors.length === 0 ? 'ok' : 'error',
    subscription_id: subscriptionId,
    errors,
    plan: [...planLines(dryRun)],
  };
};
