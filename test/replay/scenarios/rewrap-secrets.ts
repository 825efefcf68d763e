import type { RewrapActivities } from '../../../activities/broker/rewrap.js';
import type { rewrapSecrets } from '../../../workflows/broker/index.js';
import { queues } from '../../../workflows/queues.js';
import type { Scenario } from './scenario.js';

const LAST = '7b1f6a52-5d0f-4f6e-8a3b-2f6c1d9e0a47';

const scenario = (shape: string, batchesOfMachineSecrets: number): Scenario => {
  let left = batchesOfMachineSecrets;
  const activities: RewrapActivities = {
    countForRewrap: () => Promise.resolve(left * 200),
    rewrapBatch: (kind) => {
      if (kind !== 'machine' || left === 0) return Promise.resolve({ rewrapped: 0, failed: 0, last: null });
      left -= 1;
      return Promise.resolve({ rewrapped: 199, failed: 1, last: left === 0 ? null : LAST });
    },
  };
  return {
    name: `rewrapSecrets.${shape}`,
    queue: queues.broker,
    activities,
    play: async (client) => {
      const handle = await client.workflow.start<typeof rewrapSecrets>('rewrapSecrets', {
        workflowId: 'rewrap-secrets',
        taskQueue: queues.broker,
        args: [],
      });
      await handle.result();
      return handle.workflowId;
    },
  };
};

export const rewrapScenarios: readonly Scenario[] = [
  scenario('nothing-to-do', 0),
  scenario('two-batches', 2),
];
