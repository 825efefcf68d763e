import { z } from 'zod';
import { AppError } from '../errors.js';
import { plainText } from '../plain-text.js';
import { isManagementGroupId, isSubscriptionId } from './subscription.js';

/** A queue message: the base64 of this object's JSON, with the field names of the queue's contract. */
export interface ProvisioningJob {
  readonly jobId: string;
  readonly subscriptionId: string;
  readonly subscriptionName: string;
  readonly managementGroupId: string;
  /** Informational counter. */
  readonly attempt: number;
}

const MAX_MESSAGE_CHARS = 64 * 1024;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const JobJson = z.object({
  job_id: plainText(128).default(''),
  subscription_id: z.string().refine(isSubscriptionId),
  subscription_name: plainText(256).default(''),
  management_group_id: z
    .string()
    .refine((text) => text === '' || isManagementGroupId(text))
    .default(''),
  attempt: z.number().int().min(0).max(2_147_483_647).default(1),
});

export const encodeJob = (job: ProvisioningJob): string => {
  const json = JSON.stringify({
    job_id: job.jobId,
    subscription_id: job.subscriptionId,
    subscription_name: job.subscriptionName,
    management_group_id: job.managementGroupId,
    attempt: job.attempt,
  });
  return btoa(String.fromCharCode(...new TextEncoder().encode(json)));
};

/** `fallbackId` stands in for a message without its own job id. Throws `invalid` for anything but such a message. */
export const decodeJob = (message: string, fallbackId: string): ProvisioningJob => {
  const job = JobJson.safeParse(parseBase64Json(message));
  if (!job.success) throw invalidMessage();
  return {
    jobId: job.data.job_id || fallbackId,
    subscriptionId: job.data.subscription_id,
    subscriptionName: job.data.subscription_name,
    managementGroupId: job.data.management_group_id,
    attempt: job.data.attempt,
  };
};

const parseBase64Json = (message: string): unknown => {
  if (message === '' || message.length > MAX_MESSAGE_CHARS || !BASE64.test(message)) throw invalidMessage();
  try {
    const bytes = Uint8Array.from(atob(message), (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw invalidMessage();
  }
};

const invalidMessage = (): AppError =>
  new AppError('invalid', 'Invalid message', {
    issues: [{ loc: ['body', 'message'], msg: 'not the base64 of a job', type: 'value_error' }],
  });

/** How a message that is no job is shown in a listing: its first 80 characters stand for the subscription. */
export const unreadableJob = (message: string): ProvisioningJob => ({
  jobId: '',
  subscriptionId: message.slice(0, 80),
  subscriptionName: '',
  managementGroupId: '',
  attempt: 1,
});
