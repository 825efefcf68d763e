import { condition, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { WipeActivities } from '../../activities/broker/wipe.js';
import { databaseStep } from '../options.js';
import { wipeCompleted, wipeProgress, wipeTold } from './messages.js';

const { readWipe, raiseWipeOverdue } = proxyLocalActivities<WipeActivities>(databaseStep);

export interface RevokeAndWipeInput {
  readonly machineId: string;
  readonly deadlineSeconds: number;
}

export type WipeResult = 'completed' | 'completed-late';

/**
 * Follows a revoked machine until its wipe is reported: the node is told at each attest, whenever it shows up. Past
 * the deadline one `machine.wipe_overdue` is raised and the waiting goes on.
 */
export const revokeAndWipe = async ({
  machineId,
  deadlineSeconds,
}: RevokeAndWipeInput): Promise<WipeResult> => {
  let told = false;
  let completed = false;
  let overdue = false;
  setHandler(wipeTold, () => {
    told = true;
  });
  setHandler(wipeCompleted, () => {
    completed = true;
  });
  setHandler(wipeProgress, () => ({ told, completed, overdue }));

  const before = await readWipe(machineId);
  told ||= before.told;
  completed ||= before.completed;

  if (!(await condition(() => completed, deadlineSeconds * 1000))) {
    overdue = true;
    await raiseWipeOverdue(machineId);
    await condition(() => completed);
  }
  return overdue ? 'completed-late' : 'completed';
};
