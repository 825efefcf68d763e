/** What a careless change does to running workflows; the replay test must notice each of them. */
import { condition, proxyActivities, proxyLocalActivities, setHandler, sleep } from '@temporalio/workflow';
import type { ImageActivities } from '../../../activities/broker/image.js';
import type { WipeActivities } from '../../../activities/broker/wipe.js';
import type { RevokeAndWipeInput } from '../../../workflows/broker/revoke-and-wipe.js';
import { wipeCompleted } from '../../../workflows/broker/messages.js';
import { databaseStep, outsideCall } from '../../../workflows/options.js';

const { readWipe } = proxyLocalActivities<WipeActivities>(databaseStep);
const { requestImage } = proxyActivities<ImageActivities>(outsideCall);

/** The overdue step was taken out without a patch. */
export const revokeAndWipe = async ({ machineId, deadlineSeconds }: RevokeAndWipeInput): Promise<string> => {
  let completed = false;
  setHandler(wipeCompleted, () => {
    completed = true;
  });
  await readWipe(machineId);
  await condition(() => completed, deadlineSeconds * 1000);
  await condition(() => completed);
  return 'completed';
};

/** A pause was put in front. */
export const buildImage = async (machineId: string): Promise<string> => {
  await sleep(1000);
  return requestImage(machineId);
};
