import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { RewrapProgress } from '../../domain/broker/rewrap.js';
import { rewrapProgress } from '../../workflows/broker/rewrap-messages.js';
import { workflowIds } from '../../workflows/ids.js';

/** How far the last rewrap is, asked of its workflow; `idle` when none runs. */
export const readRewrapProgress = async (
  client: Client,
  countRemaining: () => Promise<number>,
): Promise<RewrapProgress> => {
  const handle = client.workflow.getHandle(workflowIds.rewrap());
  const idle = async (): Promise<RewrapProgress> => ({
    state: 'idle',
    rewrapped: 0,
    failed: 0,
    remaining: await countRemaining(),
  });
  try {
    const { status } = await handle.describe();
    if (status.name === 'RUNNING') return await handle.query(rewrapProgress);
    return status.name === 'COMPLETED' ? ((await handle.result()) as RewrapProgress) : await idle();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return idle();
    throw error;
  }
};
