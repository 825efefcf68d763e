import { allHandlersFinished, condition, proxyLocalActivities, setHandler } from '@temporalio/workflow';
import type { VoteActivities } from '../../activities/broker/votes.js';
import type { ApprovalOutcome } from '../../domain/broker/approval.js';
import { castVoteStep, databaseStep } from '../options.js';
import { castVote } from './messages.js';

const { castVote: recordVote } = proxyLocalActivities<VoteActivities>(castVoteStep);
const { closeLapsedWindow } = proxyLocalActivities<VoteActivities>(databaseStep);

/** What became of the window: `nothing` when no vote in it was accepted. */
export type WindowResult = 'approved' | 'lapsed' | 'nothing';

interface Window {
  judged: number;
  voted: boolean;
  approved: boolean;
  leftMs: number;
}

/**
 * The dual-control window of one machine: opened by the first vote, closed by the second or by time. The database
 * judges every vote under the machine's row lock; the workflow holds the clock and makes the window visible.
 */
export const approvalWindow = async (machineId: string): Promise<WindowResult> => {
  const window: Window = { judged: 0, voted: false, approved: false, leftMs: 0 };

  setHandler(castVote, async (input): Promise<ApprovalOutcome> => {
    try {
      const outcome = await recordVote(input);
      window.approved ||= outcome.kind === 'approved';
      if (outcome.kind === 'pending') {
        window.voted = true;
        window.leftMs = input.windowSeconds * 1000;
      }
      return outcome;
    } finally {
      window.judged += 1;
    }
  });

  await condition(() => window.judged > 0);
  for (;;) {
    await condition(allHandlersFinished);
    if (window.approved) return 'approved';
    if (window.leftMs <= 0) return window.voted ? 'lapsed' : 'nothing';
    if (await condition(() => window.approved, window.leftMs)) continue;
    const { judged } = window;
    const leftMs = await closeLapsedWindow(machineId);
    if (judged === window.judged) window.leftMs = leftMs;
  }
};
