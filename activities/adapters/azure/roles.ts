import { AuthorizationManagementClient } from '@azure/arm-authorization';
import { AppError } from '../../../domain/errors.js';
import { roleAssignmentExists } from '../../../domain/vending/arm-errors.js';
import { roleDefinitionId } from '../../../domain/vending/roles.js';
import type { RoleGrant } from '../../../domain/vending/roles.js';
import { subscriptionScope } from '../../../domain/vending/subscription.js';
import { uuidV5 } from '../../crypto/uuid-v5.js';
import type { ArmAccess } from './client.js';
import { cloudCall, faultOf } from './faults.js';

const NAMESPACE = '4f2c8a1e-6f0b-5d53-9a55-0d1f5c6f7b21';

/** The name of an assignment follows from scope, principal and role, so a repeat writes the same one again. */
export const roleAssignmentName = (scope: string, { principalId, role }: RoleGrant): string =>
  uuidV5(NAMESPACE, `${scope}|${principalId}|${role}`.toLowerCase());

/** Assigns a role at the subscription; returns the id of the assignment. One that exists already is success. */
export const createRoleAssigner = ({ credential, options }: ArmAccess) => {
  const client = new AuthorizationManagementClient(credential, '', options);
  return async (subscriptionId: string, grant: RoleGrant): Promise<string> => {
    const scope = subscriptionScope(subscriptionId);
    const name = roleAssignmentName(scope, grant);
    const id = `${scope}/providers/Microsoft.Authorization/roleAssignments/${name}`;
    try {
      const made = await cloudCall(`assign ${grant.role}`, (call) =>
        client.roleAssignments.create(
          `subscriptions/${subscriptionId}`,
          name,
          {
            roleDefinitionId: roleDefinitionId(scope, grant.role),
            principalId: grant.principalId,
            principalType: grant.principalType,
            description: 'Assigned by subscription vending',
          },
          call,
        ),
      );
      return made.id ?? id;
    } catch (error) {
      if (error instanceof AppError && roleAssignmentExists(faultOf(error))) return id;
      throw error;
    }
  };
};

export type AssignRole = ReturnType<typeof createRoleAssigner>;
