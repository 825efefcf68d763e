import type { z } from 'zod';
import type { QueueCount } from '../../../activities/vending/jobs.js';
import type { ProvisioningJob } from '../../../domain/vending/job.js';
import type { FindJobResponse, JobListResponse, JobStatsResponse } from '../schemas/responses.js';

const presentJob = (job: ProvisioningJob) => ({
  subscription_id: job.subscriptionId,
  subscription_name: job.subscriptionName,
  management_group_id: job.managementGroupId,
  attempt: job.attempt,
  job_id: job.jobId,
});

export const presentJobs = (
  queue: string,
  jobs: readonly ProvisioningJob[],
): z.infer<typeof JobListResponse> => ({ queue, count: jobs.length, messages: jobs.map(presentJob) });

export const presentFound = (
  found: { readonly queue: string; readonly job: ProvisioningJob } | undefined,
): z.infer<typeof FindJobResponse> =>
  found === undefined
    ? { found: false, queue: null, job: null }
    : { found: true, queue: found.queue, job: presentJob(found.job) };

const presentCount = ({ queue, count, error }: QueueCount) => ({
  queue,
  ...(count === undefined ? {} : { approximate_message_count: count }),
  ...(error === undefined ? {} : { error }),
});

export const presentStats = (stats: {
  readonly provisioning: QueueCount;
  readonly deadLetter: QueueCount;
}): z.infer<typeof JobStatsResponse> => ({
  provisioning: presentCount(stats.provisioning),
  dead_letter: presentCount(stats.deadLetter),
});
