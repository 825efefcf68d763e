import { uuidV5 } from '../crypto/uuid-v5.js';
import type { ProvisioningJob } from '../../domain/vending/job.js';
import { JOB_SOURCE } from './jobs.js';
import type { Jobs } from './jobs.js';
import { inboxEntry } from './inbox.js';
import type { Inbox } from './inbox.js';
import type { Provision } from './provision.js';

export type JobOutcome =
  | { readonly kind: 'ok' | 'dead_lettered' | 'running' }
  | { readonly kind: 'failed'; readonly errors: readonly string[] };

interface ProcessDeps {
  readonly inbox: Inbox;
  readonly provision: Provision;
  readonly jobs: Jobs;
  readonly maxDeliveryCount: number;
  readonly waitMs: number;
}

/**
 * Processes one delivery of a job. The job id is the idempotency key: the same job twice is one run.
 * A job delivered too often is moved to the dead-letter queue without another try, unless its run goes on or succeeded.
 */
export const createProcessJob =
  ({ inbox, provision, jobs, maxDeliveryCount, waitMs }: ProcessDeps) =>
  async (job: ProvisioningJob, deliveryCount: number): Promise<JobOutcome> => {
    const origin = { trigger: 'job', triggeredBy: 'queue', source: JOB_SOURCE, eventId: job.jobId } as const;
    if (deliveryCount > maxDeliveryCount) {
      const [state] = await inbox.settled([inboxEntry(job, origin)], 0);
      if (state?.status === 'succeeded') return { kind: 'ok' };
      if (state?.status === 'pending' || state?.status === 'running') return { kind: 'running' };
      await jobs.deadLetter(job);
      return { kind: 'dead_lettered' };
    }
    const run = await provision(job, origin, waitMs);
    if (run === undefined) return { kind: 'running' };
    return run.status === 'succeeded' ? { kind: 'ok' } : { kind: 'failed', errors: run.errors };
  };

export type ProcessJob = ReturnType<typeof createProcessJob>;

const MESSAGE_NAMESPACE = '5e0c9d52-0b44-5d5e-9a30-5b1d0e2f7a63';

/** Stands in for the job id of a message that has none; the same message has the same one. */
export const fallbackJobId = (message: string): string => uuidV5(MESSAGE_NAMESPACE, message);
