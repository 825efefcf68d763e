import type { Middleware } from 'koa';
import { AppError } from '../../domain/errors.js';
import { limitedSource } from './source.js';
import type { RequestState } from './state.js';

/** What is left for a key after one more request. */
interface Allowance {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the next request is allowed; 0 while some remain. */
  readonly retrySeconds: number;
  /** Seconds until the whole limit is available again. */
  readonly resetSeconds: number;
}

export interface RateLimiter {
  readonly perMinute: number;
  take(key: string): Allowance;
  /** Seconds until `take` would allow a request of the key, which is not counted; 0 when it would now. */
  wait(key: string): number;
}

interface LimiterOptions {
  readonly perMinute: number;
  /** Milliseconds that never go back. */
  readonly elapsed?: () => number;
  /** Keys remembered in a minute; with more of them the oldest begin anew. */
  readonly maxKeys?: number;
}

const MINUTE_MS = 60_000;
const MAX_KEYS = 100_000;

/**
 * A full minute's worth at once, then an even stream of as many (the generic cell rate algorithm): one number a key,
 * the time at which its allowance is whole again. A key that was idle for a minute equals a new one, so two maps that
 * change places every minute forget it, and memory is bounded without a sweep.
 */
export const createRateLimiter = (options: LimiterOptions): RateLimiter => {
  const { perMinute } = options;
  const elapsed = options.elapsed ?? (() => performance.now());
  const maxKeys = options.maxKeys ?? MAX_KEYS;
  const step = MINUTE_MS / perMinute;
  let recent = new Map<string, number>();
  let older = new Map<string, number>();
  let turnAt = elapsed() + MINUTE_MS;

  const turn = (now: number): void => {
    if (now < turnAt && recent.size < maxKeys) return;
    older = now < turnAt + MINUTE_MS ? recent : new Map<string, number>();
    recent = new Map<string, number>();
    turnAt = now + MINUTE_MS;
  };
  const wholeAtOf = (key: string, now: number): number =>
    Math.max(now, recent.get(key) ?? older.get(key) ?? now);
  const secondsUntil = (wholeAt: number, now: number): number =>
    Math.max(0, (wholeAt + step - now - MINUTE_MS) / 1000);

  return {
    perMinute,
    wait: (key) => {
      const now = elapsed();
      return secondsUntil(wholeAtOf(key, now), now);
    },
    take: (key) => {
      const now = elapsed();
      turn(now);
      const wholeAt = wholeAtOf(key, now);
      const next = wholeAt + step;
      const allowed = next - now <= MINUTE_MS;
      const after = allowed ? next : wholeAt;
      recent.set(key, after);
      return {
        allowed,
        remaining: Math.floor((MINUTE_MS - (after - now)) / step),
        retrySeconds: secondsUntil(after, now),
        resetSeconds: (after - now) / 1000,
      };
    },
  };
};

/** The refusal of a source that used up its allowance. */
export const rateLimited = (waitSeconds: number): AppError =>
  new AppError('throttled', 'too many requests from this address', {
    code: 'rate_limited',
    retryAfterSeconds: Math.max(1, waitSeconds),
  });

/** Limits a public endpoint per source address; 0 a minute means no limit. */
export const rateLimit = (options: LimiterOptions): Middleware<RequestState> => {
  if (options.perMinute === 0) return (_ctx, next) => next();
  const limiter = createRateLimiter(options);
  return async (ctx, next) => {
    const source = limitedSource(ctx.state);
    if (source === undefined) {
      await next();
      return;
    }
    const allowance = limiter.take(source);
    ctx.set('RateLimit-Limit', String(limiter.perMinute));
    ctx.set('RateLimit-Remaining', String(allowance.remaining));
    ctx.set('RateLimit-Reset', String(Math.ceil(allowance.resetSeconds)));
    if (!allowance.allowed) throw rateLimited(allowance.retrySeconds);
    await next();
  };
};
