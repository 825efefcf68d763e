import type { Client } from '@temporalio/client';
import { WithStartWorkflowOperation } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { Actor } from '../../domain/broker/actor.js';
import type { ApprovalOutcome, Vote } from '../../domain/broker/approval.js';
import { castVote } from '../../workflows/broker/messages.js';
import type { approvalWindow } from '../../workflows/broker/index.js';
import { workflowIds } from '../../workflows/ids.js';
import { queues } from '../../workflows/queues.js';
import { searchAttributes } from '../../workflows/search-attributes.js';
import { fromTemporal } from './failures.js';

/** An operator waits for the answer: longer than the vote's own retries, shorter than a client's patience. */
const VOTE_DEADLINE_MS = 20_000;

export interface BrokerCommands {
  /** Casts a vote in the machine's window, opening one when none is open; answers once the vote is durable. */
  readonly castVote: (vote: Vote, actor: Actor) => Promise<ApprovalOutcome>;
}

export const createBrokerCommands = (client: Client, windowSeconds: number): BrokerCommands => ({
  castVote: async (vote, actor) => {
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof approvalWindow>('approvalWindow', {
      workflowId: workflowIds.approval(vote.machineId),
      taskQueue: queues.broker,
      args: [vote.machineId],
      workflowIdConflictPolicy: 'USE_EXISTING',
      typedSearchAttributes: new TypedSearchAttributes([
        { key: searchAttributes.machineId, value: vote.machineId },
      ]),
    });
    try {
      return await client.withDeadline(Date.now() + VOTE_DEADLINE_MS, () =>
        client.workflow.executeUpdateWithStart(castVote, {
          startWorkflowOperation,
          updateId: vote.voteId,
          args: [{ vote, actor, windowSeconds }],
        }),
      );
    } catch (error) {
      throw fromTemporal(error);
    }
  },
});
