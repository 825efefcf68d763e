import { ArmFault } from './model.js';
import type { Store } from './store.js';

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

interface RoleAssignment {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly properties: {
    readonly roleDefinitionId: string;
    readonly principalId: string;
    readonly principalType: string;
    readonly scope: string;
  };
}
interface Where {
  readonly subscription: string;
  readonly name: string;
  readonly tenantId: string;
}

/** Judges a PUT of a role assignment as the service does: names are GUIDs, one assignment a triple, nothing is updatable. */
export const checkRoleAssignment = (
  store: Store,
  { subscription, name, tenantId }: Where,
  body: unknown,
): { readonly assignment: RoleAssignment; readonly existed: boolean } => {
  const { properties } = body as { properties?: Partial<RoleAssignment['properties']> };
  const { roleDefinitionId = '', principalId = '', principalType = 'User' } = properties ?? {};
  const scope = `/subscriptions/${subscription}`;
  const id = `${scope}/providers/Microsoft.Authorization/roleAssignments/${name}`;
  if (!GUID.test(name))
    throw new ArmFault(400, 'InvalidRoleAssignmentId', `The role assignment ID '${name}' is not valid.`);
  if (!roleDefinitionId.includes('/roleDefinitions/')) {
    throw new ArmFault(400, 'BadRequestFormat', 'The request was incorrectly formatted.');
  }
  checkPrincipal(store, principalId, principalType, tenantId);
  const same = (other: RoleAssignment) =>
    other.properties.principalId === principalId && other.properties.roleDefinitionId === roleDefinitionId;
  const present = store.get<RoleAssignment>('roleAssignments', id.toLowerCase());
  if (present !== undefined) {
    if (same(present)) return { assignment: present, existed: true };
    throw new ArmFault(
      400,
      'RoleAssignmentUpdateNotPermitted',
      'Tenant ID, principal ID and scope are not allowed to be updated.',
    );
  }
  const twin = store
    .all<RoleAssignment>('roleAssignments')
    .find((other) => other.properties.scope === scope && same(other));
  if (twin !== undefined)
    throw new ArmFault(409, 'RoleAssignmentExists', 'The role assignment already exists.');
  return {
    assignment: {
      id,
      name,
      type: 'Microsoft.Authorization/roleAssignments',
      properties: { roleDefinitionId, principalId, principalType, scope },
    },
    existed: false,
  };
};

/** Principals that are not in the directory yet are in `absentPrincipals`, with the number of refusals still to come. */
const checkPrincipal = (store: Store, principalId: string, principalType: string, tenantId: string): void => {
  const left = store.get<number>('absentPrincipals', principalId) ?? 0;
  if (left > 0) {
    store.put('absentPrincipals', principalId, left - 1);
    throw new ArmFault(
      400,
      'PrincipalNotFound',
      `Principal ${principalId} does not exist in the directory ${tenantId}.`,
    );
  }
  const trueType = store.get<string>('principals', principalId);
  if (trueType !== undefined && trueType !== principalType) {
    throw new ArmFault(
      400,
      'UnmatchedPrincipalType',
      `The PrincipalId '${principalId}' has type '${trueType}', which is different from specified PrincipalType '${principalType}'.`,
    );
  }
};
