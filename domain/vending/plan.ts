import { chooseManagementGroup, enforcementMode, SANDBOX } from './environment.js';
import type { EnforcementMode, EnvironmentMapping } from './environment.js';
import type { RoleGrant } from './roles.js';
import {
  NOTIFY_API,
  NOTIFY_WEBHOOK,
  STEP_BUDGET,
  STEP_INITIATIVE,
  STEP_MG,
  STEP_NOTIFY,
  STEP_POLICY,
  STEP_RBAC,
  TICKET_FEEDBACK,
} from './steps.js';
import type { StepDefinition } from './steps.js';
import type { TagValues } from './tags.js';

/** One entry of `VENDING_DEFAULT_POLICIES`: a policy or initiative to assign to every subscription. */
export interface DefaultPolicy {
  readonly name: string;
  readonly definitionId: string;
  readonly displayName: string;
}

/** What the settings contribute to every plan. */
export interface PlanRules {
  readonly mapping: EnvironmentMapping;
  readonly grants: readonly RoleGrant[];
  readonly policies: readonly DefaultPolicy[];
  readonly defaultAlertEmail: string;
  readonly publishesEvent: boolean;
  /** In the order in which they will run. */
  readonly steps: readonly StepDefinition[];
}

export interface Budget {
  readonly amount: number;
  /** Undefined: nobody is named, so the owners of the subscription are alerted. */
  readonly contactEmail: string | undefined;
}

/** Everything decided before anything is changed. Plain JSON: it is stored with the run and read by every step. */
export interface ProvisioningPlan {
  readonly environment: string;
  readonly managementGroup: string;
  readonly enforcementMode: EnforcementMode;
  readonly k8s: boolean;
  readonly budget: Budget | undefined;
  readonly ticket: string;
  readonly steps: readonly PlannedStep[];
}

export interface PlannedStep extends StepDefinition {
  readonly description: string;
}

/** The plan of a subscription with these tags. The same function serves dry run, preflight and live runs. */
export const planRun = (
  rules: PlanRules,
  requestedGroup: string,
  tags: TagValues,
  ticketOverride = '',
): ProvisioningPlan => {
  const environment = tags.environment ?? SANDBOX;
  const decided = {
    environment,
    managementGroup: chooseManagementGroup(rules.mapping, tags.environment, requestedGroup),
    enforcementMode: enforcementMode(environment),
    k8s: tags.k8s,
    budget:
      tags.budget > 0
        ? { amount: tags.budget, contactEmail: tags.owner ?? (rules.defaultAlertEmail || undefined) }
        : undefined,
    ticket: ticketOverride || (tags.ticket ?? ''),
  };
  const steps = rules.steps.map((step) => ({ ...step, description: describe(step.name, rules, decided) }));
  return { ...decided, steps };
};

type Decided = Omit<ProvisioningPlan, 'steps'>;

const describe = (name: string, rules: PlanRules, plan: Decided): string =>
  `[${name}] ${descriptions[name]?.(rules, plan) ?? 'run the extension step'}`;

const descriptions: Readonly<Record<string, (rules: PlanRules, plan: Decided) => string>> = {
  [STEP_MG]: (_, plan) => `move to management group '${plan.managementGroup}'`,
  [STEP_INITIATIVE]: () => 'attach the foundation policy initiative',
  [STEP_RBAC]: ({ grants }) =>
    grants.length === 0
      ? 'skipped: no principal is configured'
      : `assign ${grants.map(({ role }) => role).join(', ')}`,
  [STEP_POLICY]: ({ policies }, plan) =>
    policies.length === 0
      ? 'skipped: no default policy is configured'
      : `assign ${policies.map(({ name }) => name).join(', ')} (${plan.enforcementMode})`,
  [STEP_BUDGET]: (_, { budget }) =>
    budget === undefined
      ? 'skipped: no budget tag'
      : `monthly budget of ${budget.amount} EUR, alerts to ${budget.contactEmail ?? 'the subscription owners'}`,
  [STEP_NOTIFY]: ({ publishesEvent }) =>
    publishesEvent ? 'publish the provisioned event' : 'skipped: no event topic is configured',
  [NOTIFY_API]: () => 'tell the notification API',
  [NOTIFY_WEBHOOK]: () => 'tell the notification webhook',
  [TICKET_FEEDBACK]: (_, plan) =>
    plan.ticket === '' ? 'skipped: no ticket' : `write the outcome to ticket ${plan.ticket}`,
};

/** The answer of the gates. `note` is a line for the plan. */
export type GateOutcome =
  | { readonly passed: true; readonly note: string | undefined }
  | { readonly passed: false; readonly error: string };

export interface DryRun {
  readonly plan: ProvisioningPlan;
  readonly gate: GateOutcome;
  /** What kept the plan from being certain, e.g. tags that could not be read; empty when it is. */
  readonly doubts: readonly string[];
}

/** The lines of a dry run: the gate first, then one a step unless the gate keeps them from running. */
export const planLines = ({ plan, gate }: Pick<DryRun, 'plan' | 'gate'>): readonly string[] => [
  ...(gate.passed ? (gate.note === undefined ? [] : [gate.note]) : [`[gate] ${gate.error}`]),
  ...plan.steps.map(({ description }) => (gate.passed ? description : `${description} (blocked)`)),
];
