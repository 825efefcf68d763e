import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { WithStartWorkflowOperation } from '@temporalio/client';
import type { VoteActivities } from '../../../activities/broker/votes.js';
import type { ApprovalOutcome } from '../../../domain/broker/approval.js';
import { AppError } from '../../../domain/errors.js';
import type { approvalWindow } from '../../../workflows/broker/index.js';
import { castVote } from '../../../workflows/broker/messages.js';
import { workflowIds } from '../../../workflows/ids.js';
import { queues } from '../../../workflows/queues.js';
import type { Scenario } from './scenario.js';

const MACHINE = '6f1c0b52-7a1f-4a52-9d35-0c5f6b1f2a10';
const pending: ApprovalOutcome = { kind: 'pending', votes: 1, expiresAt: '2026-01-31T12:10:00+00:00' };
const approved: ApprovalOutcome = { kind: 'approved' };

/** `outcomes` are what the database says of the votes in turn; an Error refuses the vote. */
const judge = (
  outcomes: readonly (ApprovalOutcome | AppError)[],
  closeLapsedWindow: VoteActivities['closeLapsedWindow'] = () => Promise.resolve(0),
): VoteActivities => {
  let next = 0;
  return {
    castVote: () => {
      const outcome = outcomes[next++];
      return outcome === undefined || outcome instanceof AppError
        ? Promise.reject(outcome ?? new Error('no more votes in this scenario'))
        : Promise.resolve(outcome);
    },
    closeLapsedWindow,
  };
};

const voters = { ann: 'https://issuer.example#ann', ben: 'https://issuer.example#ben' } as const;

const vote = (client: Client, voter: keyof typeof voters, windowSeconds = 600): Promise<ApprovalOutcome> => {
  const startWorkflowOperation = new WithStartWorkflowOperation<typeof approvalWindow>('approvalWindow', {
    workflowId: workflowIds.approval(MACHINE),
    taskQueue: queues.broker,
    args: [MACHINE],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  const identity = voters[voter];
  const context = { requestId: 'recorded', sourceAddress: '192.0.2.1', method: 'jwt' };
  return client.workflow.executeUpdateWithStart(castVote, {
    startWorkflowOperation,
    args: [
      {
        vote: {
          voteId: `vote-of-${voter}`,
          machineId: MACHINE,
          operatorCn: voter,
          identity,
          role: 'controlplane',
          hostname: null,
          assignedIp: null,
        },
        actor: { operatorCn: voter, identity, context },
        windowSeconds,
      },
    ],
  });
};

const ended = async (client: Client): Promise<string> => {
  const workflowId = workflowIds.approval(MACHINE);
  await client.workflow.getHandle(workflowId).result();
  return workflowId;
};

const scenario = (
  shape: string,
  activities: VoteActivities,
  votes: (client: Client) => Promise<unknown>,
): Scenario => ({
  name: `approvalWindow.${shape}`,
  queue: queues.broker,
  activities,
  play: async (client) => {
    await votes(client);
    return ended(client);
  },
});

export const approvalScenarios: readonly Scenario[] = [
  scenario('lapsed', judge([pending]), (client) => vote(client, 'ann', 1)),
  scenario('approved', judge([pending, approved]), async (client) => {
    await vote(client, 'ann');
    await vote(client, 'ben');
  }),
  scenario('both-at-once', judge([pending, approved]), (client) =>
    Promise.all([vote(client, 'ann'), vote(client, 'ben')]),
  ),
  scenario('same-voter-twice', judge([pending, pending, approved]), async (client) => {
    await vote(client, 'ann');
    await vote(client, 'ann');
    await vote(client, 'ben');
  }),
  scenario(
    'refused',
    judge([new AppError('conflict', 'approve is refused: the machine is revoked')]),
    (client) => vote(client, 'ann').catch(() => undefined),
  ),
  scenario(
    'renewed-at-lapse',
    judge([pending, approved], () => Promise.resolve(60_000)),
    async (client) => {
      await vote(client, 'ann', 1);
      await delay(1_500);
      await vote(client, 'ben');
    },
  ),
  // The vote arrives while the lapse is being judged: that task is open for 8 s before new messages reach it.
  scenario(
    'joined-at-lapse',
    judge([pending, approved], () => delay(9_300, 0)),
    async (client) => {
      await vote(client, 'ann', 1);
      await delay(1_500);
      await vote(client, 'ben');
    },
  ),
];
