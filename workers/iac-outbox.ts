import type { Client } from '@temporalio/client';
import { LEASE_TOPIC } from '../activities/iac/updates.js';
import { PURGE_TOPIC } from '../activities/iac/stacks.js';
import type { deletedStackPurge, updateLease } from '../workflows/iac/index.js';
import { workflowIds } from '../workflows/ids.js';
import { queues } from '../workflows/queues.js';
import type { OutboxHandler } from './relay.js';

/** Starts what the state backend owes: the end of a lease, the purge of a removed stack. */
export const createIacOutboxHandlers = (client: Client): Readonly<Record<string, OutboxHandler>> => ({
  [LEASE_TOPIC]: async ({ key: updateId }) => {
    await client.workflow.start<typeof updateLease>('updateLease', {
      workflowId: workflowIds.lease(updateId),
      taskQueue: queues.iac,
      args: [{ updateId }],
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
  },
  [PURGE_TOPIC]: async ({ key: stackId, payload }) => {
    await client.workflow.start<typeof deletedStackPurge>('deletedStackPurge', {
      workflowId: workflowIds.purge(stackId),
      taskQueue: queues.iac,
      args: [{ stackId, waitMs: Number(payload['waitMs']) }],
      workflowIdConflictPolicy: 'TERMINATE_EXISTING',
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
    });
  },
});
