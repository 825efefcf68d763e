import type { Knex } from 'knex';
import { deadLetterOnce, forgetDeadLetters } from '../../db/vending/dead-letters.js';
import { AppError } from '../../domain/errors.js';
import { decodeJob, encodeJob, unreadableJob } from '../../domain/vending/job.js';
import type { ProvisioningJob } from '../../domain/vending/job.js';
import { MAX_PEEK } from '../adapters/queue.js';
import type { JobQueues, MessageQueue } from '../adapters/queue.js';

/** Source of the inbox entries that jobs make; the job id is the event id. */
export const JOB_SOURCE = 'job';

export interface QueueCount {
  readonly queue: string;
  readonly count?: number;
  readonly error?: string;
}

/** Looks into the queues and puts jobs into them. Every method throws `unavailable` when storage is away or not configured. */
export const createJobs = (
  db: Knex,
  queues: JobQueues | undefined,
  names: { provisioning: string; deadLetter: string },
) => {
  const open = (): JobQueues => {
    if (queues === undefined) throw new AppError('unavailable', 'queue storage is not configured');
    return queues;
  };
  return {
    enqueue: async (job: ProvisioningJob): Promise<{ messageId: string; queue: string }> => {
      const { provisioning } = open();
      await forgetDeadLetters(db, job.jobId);
      return { messageId: await provisioning.send(encodeJob(job)), queue: provisioning.name };
    },

    list: async (
      which: keyof JobQueues,
      count: number,
    ): Promise<{ queue: string; jobs: readonly ProvisioningJob[] }> => {
      const queue = open()[which];
      return { queue: queue.name, jobs: await peekJobs(queue, count) };
    },

    /** Looks at the first 32 visible messages of both queues. */
    find: async (jobId: string): Promise<{ queue: string; job: ProvisioningJob } | undefined> => {
      const { provisioning, deadLetter } = open();
      for (const queue of [provisioning, deadLetter]) {
        const job = (await peekJobs(queue, MAX_PEEK)).find((candidate) => candidate.jobId === jobId);
        if (job !== undefined) return { queue: queue.name, job };
      }
      return undefined;
    },

    stats: async (): Promise<Record<keyof JobQueues, QueueCount>> => {
      const [provisioning, deadLetter] = await Promise.all([
        countOf(names.provisioning, queues?.provisioning),
        countOf(names.deadLetter, queues?.deadLetter),
      ]);
      return { provisioning, deadLetter };
    },

    clearDeadLetters: async (): Promise<{ queue: string; deleted: number }> => {
      const { deadLetter } = open();
      const deleted = await deadLetter.approximateCount();
      await deadLetter.clear();
      await forgetDeadLetters(db);
      return { queue: deadLetter.name, deleted };
    },

    /** Moves a job to the dead-letter queue, once whatever happens: a send that was cut off is looked for first. */
    deadLetter: (job: ProvisioningJob): Promise<void> =>
      deadLetterOnce(db, job.jobId, async () => {
        const { deadLetter } = open();
        const present = (await peekJobs(deadLetter, MAX_PEEK)).some(({ jobId }) => jobId === job.jobId);
        return present ? 'found' : deadLetter.send(encodeJob(job));
      }),
  };
};

export type Jobs = ReturnType<typeof createJobs>;

const peekJobs = async (queue: MessageQueue, count: number): Promise<readonly ProvisioningJob[]> =>
  (await queue.peek(count)).map((text) => {
    try {
      return decodeJob(text, '');
    } catch {
      return unreadableJob(text);
    }
  });

const countOf = async (name: string, queue: MessageQueue | undefined): Promise<QueueCount> => {
  if (queue === undefined) return { queue: name, error: 'queue storage is not configured' };
  try {
    return { queue: name, count: await queue.approximateCount() };
  } catch (error) {
    return { queue: name, error: error instanceof AppError ? error.message : 'the queue cannot be reached' };
  }
};
