import type { Knex } from 'knex';
import { recordFacts } from '../../db/vending/runs.js';
import { AppError } from '../../domain/errors.js';
import { builtInSteps } from '../../domain/vending/steps.js';
import type { Clock } from '../../domain/clock.js';
import type { DefaultPolicy } from '../../domain/vending/plan.js';
import type { RoleGrant } from '../../domain/vending/roles.js';
import { resultOf } from '../../domain/vending/run.js';
import type { SyncFoundation } from '../adapters/authorization-service.js';
import type { WriteBudget } from '../adapters/azure/budgets.js';
import type { MoveToGroup } from '../adapters/azure/management-groups.js';
import type { AssignPolicy } from '../adapters/azure/policies.js';
import type { AssignRole } from '../adapters/azure/roles.js';
import type { PublishOutcome } from '../adapters/event-topic.js';
import { attemptAll, throwIfAnyFailed } from './attempt-all.js';
import type { RegisteredStep, StepContext, StepResult } from './step.js';

export interface BuiltInDeps {
  readonly db: Knex;
  readonly clock: Clock;
  readonly rootGroup: string;
  readonly grants: readonly RoleGrant[];
  readonly policies: readonly DefaultPolicy[];
  readonly moveToGroup: MoveToGroup;
  readonly syncFoundation: SyncFoundation;
  readonly assignRole: AssignRole;
  readonly assignPolicy: AssignPolicy;
  readonly writeBudget: WriteBudget;
  readonly publishOutcome: PublishOutcome | undefined;
}

const done = (summary: string, rest: Omit<StepResult, 'status' | 'summary'> = {}): StepResult => ({
  status: 'done',
  summary,
  ...rest,
});
export const skipped = (summary: string): StepResult => ({ status: 'skipped', summary });

/** The six steps of every run, in the order of their definitions. */
export const createBuiltInSteps = (deps: BuiltInDeps): readonly RegisteredStep[] => {
  const performers: Record<string, RegisteredStep['perform']> = {
    STEP_MG: moveStep(deps),
    STEP_INITIATIVE: initiativeStep(deps),
    STEP_RBAC: rolesStep(deps),
    STEP_POLICY: policyStep(deps),
    STEP_BUDGET: budgetStep(deps),
    STEP_NOTIFY: publishStep(deps),
  };
  return builtInSteps.map((definition) => {
    const perform = performers[definition.name];
    if (perform === undefined) throw new Error(`step ${definition.name} has no performer`);
    return { definition, perform };
  });
};

/** A group that does not exist is replaced by the root group, and said. */
const moveStep =
  ({ moveToGroup, rootGroup }: BuiltInDeps) =>
  async ({ run, plan }: StepContext): Promise<StepResult> => {
    try {
      await moveToGroup(plan.managementGroup, run.subscriptionId);
      return done(`moved to group '${plan.managementGroup}'`, {
        facts: { managementGroup: plan.managementGroup },
      });
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'not_found') throw error;
      await moveToGroup(rootGroup, run.subscriptionId);
      return done(`moved to group '${rootGroup}'`, {
        facts: { managementGroup: rootGroup },
        problem: `management group '${plan.managementGroup}' does not exist, used '${rootGroup}'`,
      });
    }
  };

const initiativeStep =
  ({ syncFoundation }: BuiltInDeps) =>
  async ({ run }: StepContext): Promise<StepResult> => {
    const initiativeId = await syncFoundation(run.subscriptionId);
    return done(`foundation initiative ${initiativeId || 'attached'}`, { facts: { initiativeId } });
  };

/** Every principal is tried; what was assigned is recorded even when another one failed. */
const rolesStep =
  ({ db, grants, assignRole }: BuiltInDeps) =>
  async ({ run }: StepContext): Promise<StepResult> => {
    if (grants.length === 0) return skipped('no principal is configured');
    const { results, failures } = await attemptAll(grants, (grant) => assignRole(run.subscriptionId, grant));
    await recordFacts(db, run.id, { rbacRoles: results });
    throwIfAnyFailed(failures);
    return done(`assigned ${grants.map(({ role }) => role).join(', ')}`);
  };

const policyStep =
  ({ policies, assignPolicy }: BuiltInDeps) =>
  async ({ run, plan }: StepContext): Promise<StepResult> => {
    if (policies.length === 0) return skipped('no default policy is configured');
    const { failures } = await attemptAll(policies, (policy) =>
      assignPolicy(run.subscriptionId, policy, plan.enforcementMode),
    );
    throwIfAnyFailed(failures);
    return done(`assigned ${policies.map(({ name }) => name).join(', ')} (${plan.enforcementMode})`);
  };

const budgetStep =
  ({ writeBudget }: BuiltInDeps) =>
  async ({ run, plan: { budget } }: StepContext): Promise<StepResult> => {
    if (budget === undefined) return skipped('no budget tag');
    await writeBudget(run.subscriptionId, budget);
    return done(`monthly budget of ${budget.amount}, alerts to ${budget.contactEmail ?? 'the owners'}`);
  };

const publishStep =
  ({ publishOutcome, clock }: BuiltInDeps) =>
  async ({ run, errors }: StepContext): Promise<StepResult> => {
    if (publishOutcome === undefined) return skipped('no event topic is configured');
    await publishOutcome(run.id, clock.now(), resultOf(run, errors));
    return done('published the provisioned event');
  };
