import { proxyActivities, sleep } from '@temporalio/workflow';
import type { IacActivities } from '../../activities/iac/index.js';
import { stateFold } from '../options.js';

const { purgeDeletedStack } = proxyActivities<IacActivities>(stateFold);

/** Removes a deleted stack for good when its time is over; the activity spares one that was restored meanwhile. */
export const deletedStackPurge = async (input: { readonly stackId: string; readonly waitMs: number }) => {
  await sleep(input.waitMs);
  await purgeDeletedStack({ stackId: input.stackId });
};
