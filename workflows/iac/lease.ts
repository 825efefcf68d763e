import { continueAsNew, proxyActivities, sleep } from '@temporalio/workflow';
import type { IacActivities } from '../../activities/iac/index.js';
import { stateFold } from '../options.js';

const { endLapsedUpdate } = proxyActivities<IacActivities>(stateFold);
const RENEWALS_PER_RUN = 200;

/**
 * The durable end of an update's lease: looks when the lease would end, sleeps on when it was renewed, and otherwise
 * ends the update and folds its journal, so that a stack is free five minutes after its CLI died.
 */
export const updateLease = async ({ updateId }: { readonly updateId: string }): Promise<void> => {
  for (let look = 0; look < RENEWALS_PER_RUN; look++) {
    const { waitMs } = await endLapsedUpdate({ updateId });
    if (waitMs === null) return;
    await sleep(waitMs);
  }
  await continueAsNew<typeof updateLease>({ updateId });
};
