import { PolicyClient } from '@azure/arm-policy';
import { isRestError } from '@azure/core-rest-pipeline';
import type { EnforcementMode } from '../../../domain/vending/environment.js';
import type { DefaultPolicy } from '../../../domain/vending/plan.js';
import type { ArmAccess } from './client.js';
import { cloudCall } from './faults.js';

/** Assigns a policy or initiative at the subscription under its configured name; a repeat overwrites the same one. */
export const createPolicyAssigner = ({ credential, options }: ArmAccess) => {
  const client = new PolicyClient(credential, options);
  return async (
    subscriptionId: string,
    { name, definitionId, displayName }: DefaultPolicy,
    mode: EnforcementMode,
  ): Promise<void> => {
    const assignment = { policyDefinitionId: definitionId, displayName, enforcementMode: mode };
    await cloudCall(`assign policy '${name}'`, (call) =>
      client.policyAssignments

        .create(`subscriptions/${subscriptionId}`, name, assignment, call)
        .catch(acceptUpdated),
    );
  };
};

/** The SDK knows 201 only; an assignment that existed may be answered with 200. */
const acceptUpdated = (error: unknown): void => {
  if (!(isRestError(error) && error.statusCode === 200)) throw error;
};

export type AssignPolicy = ReturnType<typeof createPolicyAssigner>;
