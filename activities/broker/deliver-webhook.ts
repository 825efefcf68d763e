import type { Knex } from 'knex';
import type { AttemptKey, ClaimedAttempt } from '../../db/broker/deliveries.js';
import { cancelMessage, claimAttempt, recordAttempt, takeRateSlot } from '../../db/broker/deliveries.js';
import type { Clock } from '../../domain/clock.js';
import type { AttemptResult, AttemptVerdict } from '../../domain/broker/webhook.js';
import { afterFailure, judgeAttempt, parseRetryAfter, retryDelayMs } from '../../domain/broker/webhook.js';
import type { Outbound } from '../adapters/http.js';
import { signatureHeaders } from '../crypto/hmac.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { uuidV5 } from '../crypto/uuid-v5.js';
import { disableEndpoint } from './disable-webhook.js';
import { webhookSecretPlace } from './secret-sealing.js';

export interface DeliverWebhookDeps {
  readonly db: Knex;
  readonly clock: Clock;
  readonly outbound: Pick<Outbound, 'request'>;
  readonly keys: KeyRing;
  /** Pauses between attempts, ms. */
  readonly schedule: readonly number[];
}

export interface AttemptInput {
  readonly messageId: string;
  readonly attempt: number;
  /** Number of the first attempt of this series: a redelivery begins the schedule anew. */
  readonly firstAttempt: number;
  /** The endpoint's rate limit was waited for. */
  readonly hasSlot: boolean;
}

interface Answer {
  readonly status: number | null;
  readonly body: string | null;
  readonly error: string | null;
  readonly durationMs: number | null;
  readonly retryAfterMs?: number | undefined;
}

const REQUEST_TIMEOUT_MS = 10_000;
const READ_LIMIT_BYTES = 65_536;
const STORED_BODY_BYTES = 4_096;
/** Waiting so little for a rate slot is not worth a timer. */
const SHORT_WAIT_MS = 20;
/** An attempt without an outcome after this time has died: the request's limit and two database steps. */
const ATTEMPT_MAX_MS = 15_000;
const RECORD_TRIES = 5;
const INTERRUPTED: Answer = { status: null, body: null, error: 'interrupted', durationMs: null };

/**
 * One attempt of one message. The attempt's row is written before the request leaves and exactly one caller may write
 * it, so an attempt is sent at most once whatever dies; an attempt cut short counts as a failure and is retried.
 */
export const createAttemptDelivery =
  (deps: DeliverWebhookDeps) =>
  async (input: AttemptInput): Promise<AttemptResult> => {
    const { db } = deps;
    const { messageId, attempt } = input;
    const key = { messageId, attempt, deliveryId: deliveryIdOf(messageId, attempt) };
    const claim = await claimAttempt(db, key, input.hasSlot);
    if (claim === undefined) return { kind: 'finished', state: 'cancelled' };
    if (claim.claimed) return conclude(deps, input, claim, key, await send(deps, claim, key));
    if (claim.earlier !== null) return resume(deps, input, claim, key, claim.earlier);
    if (!claim.enabled) {
      await cancelMessage(db, messageId);
      return { kind: 'finished', state: 'cancelled' };
    }
    const delayMs = await takeRateSlot(db, claim.webhookId);
    return delayMs > SHORT_WAIT_MS
      ? { kind: 'wait', delayMs }
      : createAttemptDelivery(deps)({ ...input, hasSlot: true });
  };

/** A run before this one died (or its answer was lost): what it wrote stands; without an outcome it was cut short. */
const resume = (
  deps: DeliverWebhookDeps,
  input: AttemptInput,
  claim: ClaimedAttempt,
  key: AttemptKey,
  { status, error, ageMs }: NonNullable<ClaimedAttempt['earlier']>,
): Promise<AttemptResult> => {
  if (status === null && error === null) {
    if (ageMs < ATTEMPT_MAX_MS) return Promise.resolve({ kind: 'wait', delayMs: ATTEMPT_MAX_MS - ageMs });
    return conclude(deps, input, claim, key, INTERRUPTED);
  }
  return conclude(deps, input, claim, key, { ...INTERRUPTED, status, error });
};

const send = async (deps: DeliverWebhookDeps, claim: ClaimedAttempt, key: AttemptKey): Promise<Answer> => {
  const begun = deps.clock.now();
  const elapsed = (): number => Math.max(0, deps.clock.now().getTime() - begun.getTime());
  try {
    const answer = await deps.outbound.request(claim.url, {
      method: 'POST',
      body: claim.payload,
      headers: deliveryHeaders(deps.keys, claim, key, begun),
      timeoutMs: REQUEST_TIMEOUT_MS,
      maxBytes: READ_LIMIT_BYTES,
    });
    const ok = judgeAttempt(answer.status) === 'delivered';
    return {
      status: answer.status,
      body: answer.body.subarray(0, STORED_BODY_BYTES).toString('utf8').replaceAll('\0', '\uFFFD'),
      error: ok ? null : `HTTP ${answer.status}`,
      durationMs: elapsed(),
      retryAfterMs: parseRetryAfter(answer.headers['retry-after'], deps.clock.now()),
    };
  } catch (error) {
    const message = error instanceof Error ? error.message : 'request failed';
    return { status: null, body: null, error: message, durationMs: elapsed() };
  }
};

const deliveryHeaders = (
  keys: KeyRing,
  claim: ClaimedAttempt,
  key: AttemptKey,
  now: Date,
): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'Keystead-Webhooks/1.0',
  'x-webhook-event': claim.eventType,
  'x-webhook-delivery': key.deliveryId,
  ...signatureHeaders({
    secrets: claim.secrets.slice(0, 2).map((sealed) => {
      const { scope, aad } = webhookSecretPlace(claim.webhookId, sealed.secretId);
      return keys.open(scope, aad, sealed).toString('utf8');
    }),
    messageId: key.messageId,
    timestamp: Math.floor(now.getTime() / 1000),
    body: claim.payload,
  }),
});

const conclude = async (
  deps: DeliverWebhookDeps,
  input: AttemptInput,
  claim: ClaimedAttempt,
  key: AttemptKey,
  answer: Answer,
): Promise<AttemptResult> => {
  const verdict = judgeAttempt(answer.status);
  const delayMs =
    verdict === 'failed'
      ? retryDelayMs({
          schedule: deps.schedule,
          attempts: input.attempt - input.firstAttempt + 1,
          random: Math.random(),
          retryAfterMs: answer.retryAfterMs,
        })
      : undefined;
  const state = stateAfter(verdict, delayMs);
  await record(deps, claim, key, answer, state);
  return state === 'pending' ? { kind: 'retry', delayMs: delayMs ?? 0 } : { kind: 'finished', state };
};

const stateAfter = (verdict: AttemptVerdict, delayMs: number | undefined) => {
  if (verdict === 'delivered') return 'delivered';
  return verdict === 'failed' && delayMs !== undefined ? 'pending' : 'failed';
};

const record = async (
  deps: DeliverWebhookDeps,
  claim: ClaimedAttempt,
  key: AttemptKey,
  answer: Answer,
  messageState: 'pending' | 'delivered' | 'failed',
): Promise<void> => {
  const { db, clock } = deps;
  const verdict = judgeAttempt(answer.status);
  const health = afterFailure(
    { failingSince: toDate(claim.failingSince), lastFailureAt: toDate(claim.lastFailureAt) },
    clock.now(),
  );
  await persist(() =>
    recordAttempt(db, {
      deliveryId: key.deliveryId,
      webhookId: claim.webhookId,
      succeeded: verdict === 'delivered',
      responseStatus: answer.status,
      responseBody: answer.body,
      error: answer.error,
      durationMs: answer.durationMs,
      failingSince: verdict === 'delivered' ? null : health.failingSince,
      messageState,
    }),
  );
  if (verdict === 'delivered') return;
  if (verdict === 'gone') await disableEndpoint(deps, claim.webhookId, 'the endpoint answered 410 Gone');
  else if (health.dead) await disableEndpoint(deps, claim.webhookId, 'nothing but failures for five days');
};

/** The request has been made: a database that is away for a moment must not make us forget the answer. */
const persist = async <T>(write: () => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await write();
    } catch (error) {
      if (tries === RECORD_TRIES) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tries));
    }
  }
};

const toDate = (iso: string | null): Date | null => (iso === null ? null : new Date(iso));

/** The first attempt has the message's own id; later ones an id that follows from it. */
const deliveryIdOf = (messageId: string, attempt: number): string =>
  attempt === 1 ? messageId : uuidV5(messageId, String(attempt));
