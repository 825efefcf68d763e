import type { IacActivities } from '../../../activities/iac/index.js';
import type { deletedStackPurge, updateLease } from '../../../workflows/iac/index.js';
import { queues } from '../../../workflows/queues.js';
import type { Scenario } from './scenario.js';

const UPDATE = '5a3b9a4e-4a08-4f3c-a5b0-1d3b9f6c2e01';
const STACK = 'e7f1d0c2-8b7a-4e56-9d0f-3a2b1c4d5e6f';

const lease = (shape: string, waits: readonly (number | null)[]): Scenario => {
  let next = 0;
  const activities: Pick<IacActivities, 'endLapsedUpdate'> = {
    endLapsedUpdate: () => Promise.resolve({ waitMs: waits[next++] ?? null }),
  };
  return {
    name: `updateLease.${shape}`,
    queue: queues.iac,
    activities,
    play: async (client) => {
      const handle = await client.workflow.start<typeof updateLease>('updateLease', {
        workflowId: `lease:${UPDATE}`,
        taskQueue: queues.iac,
        args: [{ updateId: UPDATE }],
      });
      await handle.result();
      return handle.workflowId;
    },
  };
};

const purge: Scenario = {
  name: 'deletedStackPurge.done',
  queue: queues.iac,
  activities: { purgeDeletedStack: () => Promise.resolve() },
  play: async (client) => {
    const handle = await client.workflow.start<typeof deletedStackPurge>('deletedStackPurge', {
      workflowId: `purge:${STACK}`,
      taskQueue: queues.iac,
      args: [{ stackId: STACK, waitMs: 50 }],
    });
    await handle.result();
    return handle.workflowId;
  },
};

export const iacScenarios: readonly Scenario[] = [
  lease('ended', [null]),
  lease('renewed', [20, 20, null]),
  purge,
];
