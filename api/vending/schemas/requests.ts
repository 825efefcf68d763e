import { z } from 'zod';
import { MANAGEMENT_GROUP_ID, SUBSCRIPTION_ID } from '../../../domain/vending/subscription.js';
import { plainText } from '../../http/validate.js';

const subscriptionId = z.string().regex(SUBSCRIPTION_ID, 'must be a subscription id');
const managementGroupId = z
  .string()
  .max(90)
  .refine((text) => text === '' || MANAGEMENT_GROUP_ID.test(text), 'must be a management group id');
const name = plainText(256);

export const EventsRequest = z
  .array(z.looseObject({ id: z.string().optional(), eventType: z.string().optional(), data: z.unknown() }))
  .meta({ description: 'Event Grid events, a CloudEvents 1.0 batch, or one CloudEvent' });

export const PreflightRequest = z.object({
  subscription_id: subscriptionId,
  subscription_name: name.default('preflight-subscription'),
  management_group_id: managementGroupId.default(''),
  snow_ticket: plainText(64).default(''),
});

export const ReplayRequest = z.object({
  subscription_id: subscriptionId,
  subscription_name: name.default(''),
  management_group_id: managementGroupId.default(''),
  dry_run: z.boolean().default(false),
});

export const MockEventRequest = z.object({
  subscription_id: subscriptionId,
  subscription_name: name.default('mock-subscription'),
  management_group_id: managementGroupId.default(''),
  dry_run: z.boolean().default(false),
});

export const ProcessJobRequest = z.object({
  message: z.string().max(65_536),
  delivery_count: z.int().min(0).max(2_147_483_647).default(1),
});

export const EnqueueRequest = z.object({
  subscription_id: subscriptionId,
  subscription_name: name,
  management_group_id: managementGroupId.default(''),
  job_id: z
    .string()
    .regex(/^[A-Za-z0-9._-]{0,128}$/, 'must be letters, digits, . _ or -')
    .default(''),
  attempt: z.int().min(0).max(2_147_483_647).default(1),
});

const queryInteger = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .default(fallback);

export const PeekQuery = z.object({ count: queryInteger(1, 32, 5) });

export const RunsQuery = z.object({
  limit: queryInteger(1, 200, 50),
  status: z.enum(['pending', 'running', 'succeeded', 'failed']).optional(),
  before: z.uuid().optional(),
});
