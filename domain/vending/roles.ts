/** Role definitions are the same GUIDs in every cloud and tenant. */
const roleDefinitions = {
  Owner: '8e3af657-a8ff-443c-a75c-2fe8c4bcb635',
  Contributor: 'b24988ac-6180-42a0-ab88-20f7382dd24c',
  'Security Reader': '39bc4728-0917-49c7-9d2c-d95423bc2eb4',
  'Cost Management Reader': '72fafb9e-0641-4937-9268-a91bfd8191a3',
} as const;

export type RoleName = keyof typeof roleDefinitions;

/** One role for one principal. A wrong principal type is refused by the service; a right one skips its directory check. */
export interface RoleGrant {
  readonly role: RoleName;
  readonly principalId: string;
  readonly principalType: 'ServicePrincipal' | 'Group';
}

export const roleDefinitionId = (scope: string, role: RoleName): string =>
  `${scope}/providers/Microsoft.Authorization/roleDefinitions/${roleDefinitions[role]}`;

interface Principals {
  readonly platform: string;
  readonly ops: string;
  readonly security: string;
  readonly finops: string;
}

/** The default grants; a principal that is not configured gets none. */
export const defaultGrants = (principals: Principals): readonly RoleGrant[] =>
  (
    [
      { role: 'Owner', principalId: principals.platform, principalType: 'ServicePrincipal' },
      { role: 'Contributor', principalId: principals.ops, principalType: 'Group' },
      { role: 'Security Reader', principalId: principals.security, principalType: 'Group' },
      { role: 'Cost Management Reader', principalId: principals.finops, principalType: 'Group' },
    ] as const
  ).filter(({ principalId }) => principalId !== '');
