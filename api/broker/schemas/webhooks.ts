import { z } from 'zod';
import { webhookEventTypes } from '../../../domain/broker/webhook.js';
import { plainText } from '../../http/validate.js';

const url = plainText(512, 1);
/** An array, or a comma-separated string. */
const events = z
  .union([
    z.array(z.string().max(64)).max(64),
    z
      .string()
      .max(1_024)
      .transform((text) => text.split(',')),
  ])
  .transform((names) => [...new Set(names.map((name) => name.trim()))])
  .pipe(z.array(z.enum(webhookEventTypes)).min(1));
const secret = plainText(256);
const rateLimit = z.int().min(0).max(1_000_000);

export const CreateWebhookRequest = z
  .object({ url, events, secret: secret.nullish(), rate_limit_per_minute: rateLimit.nullish() })
  .transform((body) => ({
    url: body.url,
    events: body.events,
    secret: body.secret ?? undefined,
    rateLimitPerMinute: body.rate_limit_per_minute ?? undefined,
  }));

/** Null means unchanged; an empty secret removes the signing secret. */
export const UpdateWebhookRequest = z
  .object({
    url: url.nullish(),
    events: events.nullish(),
    secret: secret.nullish(),
    enabled: z.boolean().nullish(),
    rate_limit_per_minute: rateLimit.nullish(),
  })
  .transform((body) => ({
    url: body.url ?? undefined,
    events: body.events ?? undefined,
    secret: body.secret ?? undefined,
    enabled: body.enabled ?? undefined,
    rateLimitPerMinute: body.rate_limit_per_minute ?? undefined,
  }));

export const RotateSecretRequest = z
  .object({ overlap_hours: z.int().min(0).max(168).default(24) })
  .transform((body) => ({ overlapHours: body.overlap_hours }));

const time = z.iso.datetime({ offset: true });

export const DeliveriesQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  outcome: z.enum(['delivered', 'failed']).optional(),
  event_type: z.enum(webhookEventTypes).optional(),
  since: time.optional(),
  until: time.optional(),
});

export const RecoverQuery = z.object({ since: time });
