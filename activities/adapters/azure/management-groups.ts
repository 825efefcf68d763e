import { ManagementGroupsAPI } from '@azure/arm-managementgroups';
import type { ArmAccess } from './client.js';
import { cloudCall } from './faults.js';

/** Puts a subscription under a group; idempotent. Throws `not_found` when there is no such group. */
export const createGroupMover = ({ credential, options }: ArmAccess) => {
  const client = new ManagementGroupsAPI(credential, options);
  return async (groupId: string, subscriptionId: string): Promise<void> => {
    await cloudCall(`move to management group '${groupId}'`, (call) =>
      client.managementGroupSubscriptions.create(groupId, subscriptionId, {
        ...call,
        cacheControl: 'no-cache',
      }),
    );
  };
};

export type MoveToGroup = ReturnType<typeof createGroupMover>;
