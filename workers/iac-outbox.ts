import type { Client } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { WorkflowNotFoundError } from '@temporalio/client';
import {
  DEPLOYMENT_CANCEL_TOPIC,
  DEPLOYMENT_TOPIC,
  DEPLOYMENT_TURN_TOPIC,
} from '../activities/iac/deployments/commands.js';
import { LEASE_TOPIC } from '../activities/iac/updates.js';
import { PURGE_TOPIC } from '../activities/iac/stacks.js';
import type { deletedStackPurge, deployment, updateLease } from '../workflows/iac/index.js';
import { cancelDeployment, deploymentTurn } from '../workflows/iac/messages.js';
import { workflowIds } from '../workflows/ids.js';
import { queues } from '../workflows/queues.js';
import { searchAttributes } from '../workflows/search-attributes.js';
import type { OutboxHandler } from './relay.js';

/** Starts what the state backend owes: the end of a lease, the purge of a removed stack. */
export const createIacOutboxHandlers = (client: Client): Readonly<Record<string, OutboxHandler>> => ({
  [DEPLOYMENT_TOPIC]: async ({ key: deploymentId, payload }) => {
    const stack = { key: searchAttributes.stack, value: String(payload['stack']) };
    await client.workflow.start<typeof deployment>('deployment', {
      workflowId: workflowIds.deployment(deploymentId),
      taskQueue: queues.deployments,
      args: [{ deploymentId }],
      workflowIdConflictPolicy: 'USE_EXISTING',
      typedSearchAttributes: new TypedSearchAttributes([stack]),
    });
  },
  [DEPLOYMENT_CANCEL_TOPIC]: ({ key }) => tell(client, key, cancelDeployment),
  [DEPLOYMENT_TURN_TOPIC]: ({ key }) => tell(client, key, deploymentTurn),
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

/** A deployment that is over needs no word any more. */
const tell = async (
  client: Client,
  deploymentId: string,
  signal: typeof cancelDeployment | typeof deploymentTurn,
): Promise<void> => {
  await client.workflow
    .getHandle(workflowIds.deployment(deploymentId))
    .signal(signal)
    .catch((error: unknown) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
};
