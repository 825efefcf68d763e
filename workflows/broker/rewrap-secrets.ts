import { proxyActivities, setHandler } from '@temporalio/workflow';
import type { RewrapActivities } from '../../activities/broker/rewrap.js';
import type { RewrapBatch, RewrapProgress } from '../../domain/broker/rewrap.js';
import { rewrapKinds } from '../../domain/broker/rewrap.js';
import { outsideCall } from '../options.js';
import { rewrapProgress } from './rewrap-messages.js';

const { countForRewrap, rewrapBatch } = proxyActivities<RewrapActivities>(outsideCall);

/** Seals every value under the current service key while reads go on; a run that is cut off goes on where it was. */
export const rewrapSecrets = async (): Promise<RewrapProgress> => {
  let progress: RewrapProgress = { state: 'running', rewrapped: 0, failed: 0, remaining: 0 };
  setHandler(rewrapProgress, () => progress);
  progress = { ...progress, remaining: await countForRewrap() };
  for (const kind of rewrapKinds) {
    let after: string | null = null;
    do {
      const batch: RewrapBatch = await rewrapBatch(kind, after);
      progress = {
        state: 'running',
        rewrapped: progress.rewrapped + batch.rewrapped,
        failed: progress.failed + batch.failed,
        remaining: Math.max(0, progress.remaining - batch.rewrapped),
      };
      after = batch.last;
    } while (after !== null);
  }
  return { ...progress, state: 'idle', remaining: await countForRewrap() };
};
