import { z } from 'zod';
import { parseSchedule } from '../broker/webhook.js';
import { count, custom, flag, list } from './env.js';
import type { Settings } from './env.js';

const DEFAULT_SCHEDULE = '5s,5m,30m,2h,5h,10h,14h,20h,24h';

const schedule = z
  .string()
  .default(DEFAULT_SCHEDULE)
  .transform((text, context) => {
    const delays = parseSchedule(text);
    if (delays !== undefined && delays.length <= 30) return delays;
    context.addIssue('must be up to 30 pauses such as 5s,5m,2h');
    return z.NEVER;
  });

/** Webhook delivery (`SVC_WEBHOOK_`), in the gateway and in the worker. */
export const webhookSettings = {
  SVC_WEBHOOK_RETRY_SCHEDULE: custom(
    schedule,
    'Pauses between attempts, comma-separated with `ms`, `s`, `m` or `h`; 10 % jitter is added.',
    DEFAULT_SCHEDULE,
  ),
  SVC_WEBHOOK_ALLOW_HTTP: flag(false, 'Accept `http://` endpoints.'),
  SVC_WEBHOOK_ALLOWED_CIDRS: list(
    '',
    'Private, loopback or special address ranges that endpoints may have, e.g. `10.0.0.0/8`; default none.',
  ),
  SVC_WEBHOOK_RATE_LIMIT_PER_MINUTE: count(
    0,
    'Requests a minute to one endpoint, unless it has a limit of its own; 0 = no limit.',
    0,
    1_000_000,
  ),
  SVC_WEBHOOK_RETENTION_DAYS: count(30, 'Days that sent events and their attempts are kept.', 1, 36_500),
};

export type WebhookConfig = Settings<typeof webhookSettings>;
