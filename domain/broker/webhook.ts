/** Webhook rules: event types, body, judging an answer, the retry schedule and when an endpoint counts as dead. */

export const webhookEventTypes = [
  'machine.registered',
  'machine.approved',
  'machine.revoked',
  'machine.locked',
  'machine.wipe_overdue',
  'machine.ak_replaced',
  'secret.created',
  'secret.accessed',
  'deployment.succeeded',
  'deployment.failed',
  'webhook.disabled',
  'webhook.test',
] as const;

export type WebhookEventType = (typeof webhookEventTypes)[number];

/** What happened, before it is known who wants to hear of it. `data` is public: never a secret value or a token. */
export interface WebhookEvent {
  readonly eventType: WebhookEventType;
  readonly machineId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The bytes that are sent and signed. `timestamp`: ISO 8601 UTC. */
export const webhookBody = (event: WebhookEvent, timestamp: string): string =>
  JSON.stringify({
    event_type: event.eventType,
    timestamp,
    machine_id: event.machineId,
    data: event.data,
  });

export type AttemptVerdict = 'delivered' | 'gone' | 'failed';

/** 2xx is success; 410 asks for no more; anything else, a redirect too, is a failure. `status` is null without an answer. */
export const judgeAttempt = (status: number | null): AttemptVerdict => {
  if (status !== null && status >= 200 && status < 300) return 'delivered';
  return status === 410 ? 'gone' : 'failed';
};

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

const JITTER = 0.1;
const MAX_RETRY_AFTER_MS = HOUR;
const units: Readonly<Record<string, number>> = { ms: 1, s: SECOND, m: 60 * SECOND, h: HOUR };

/** `5s, 5m, 2h` to milliseconds; undefined when an item is not a number with `ms`, `s`, `m` or `h`. */
export const parseSchedule = (text: string): readonly number[] | undefined => {
  const delays = text.split(',').map((item) => {
    const [, amount, unit] = /^(\d{1,6})(ms|s|m|h)$/.exec(item.trim()) ?? [];
    return Number(amount) * (units[unit ?? ''] ?? NaN);
  });
  return delays.some(Number.isNaN) ? undefined : delays;
};

interface RetryInput {
  /** Pauses between attempts, ms; a delivery has one attempt more than pauses. */
  readonly schedule: readonly number[];
  /** Attempts made so far in this series, 1 or more. */
  readonly attempts: number;
  /** Uniform in [0, 1). */
  readonly random: number;
  readonly retryAfterMs?: number | undefined;
}

/** Pause before the next attempt, ms, with 10 % jitter and a bounded `Retry-After`; undefined when none is left. */
export const retryDelayMs = ({
  schedule,
  attempts,
  random,
  retryAfterMs,
}: RetryInput): number | undefined => {
  const pause = schedule[attempts - 1];
  if (pause === undefined) return undefined;
  const jittered = Math.round(pause * (1 + JITTER * (2 * random - 1)));
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS));
};

/** `Retry-After` as milliseconds from `now`: seconds or an HTTP date (RFC 9110 10.2.3); anything else is ignored. */
export const parseRetryAfter = (value: string | undefined, now: Date): number | undefined => {
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND;
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
};

/** After so long with nothing but failures an endpoint is switched off. */
export const DEAD_AFTER_MS = 5 * DAY;
/** Longer than the longest pause of the schedule with its jitter: a wider gap says nothing about the time between. */
const SILENCE_MS = 2 * DAY;

export interface EndpointHealth {
  readonly failingSince: Date | null;
  readonly lastFailureAt: Date | null;
}

/** What one more failure makes of an endpoint's health, and whether the endpoint is dead. */
export const afterFailure = (
  { failingSince, lastFailureAt }: EndpointHealth,
  now: Date,
): EndpointHealth & { readonly failingSince: Date; readonly dead: boolean } => {
  const fresh = lastFailureAt !== null && now.getTime() - lastFailureAt.getTime() <= SILENCE_MS;
  const since = failingSince !== null && fresh ? failingSince : now;
  return { failingSince: since, lastFailureAt: now, dead: now.getTime() - since.getTime() >= DEAD_AFTER_MS };
};

const WHSEC = 'whsec_';

export const isStandardSecret = (secret: string): boolean => secret.startsWith(WHSEC);

/** The base64 part of a `whsec_` secret. */
export const standardSecretBase64 = (secret: string): string => secret.slice(WHSEC.length);

export const standardSecret = (base64: string): string => WHSEC + base64;

/** Text that a Standard Webhooks signature covers; `timestamp` in seconds since the epoch. */
export const standardSignedText = (messageId: string, timestamp: number, body: string): string =>
  `${messageId}.${timestamp}.${body}`;

/** What one attempt of a message came to, and what is to be done next. */
export type AttemptResult =
  | { readonly kind: 'finished'; readonly state: 'delivered' | 'failed' | 'cancelled' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** Come back with the same attempt: the endpoint's rate limit, or another run of this attempt may still be sending. */
  | { readonly kind: 'wait'; readonly delayMs: number };
