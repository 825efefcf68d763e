import type { Knex } from 'knex';
import { countByStatus } from '../../db/broker/machines.js';
import type { Clock } from '../../domain/clock.js';
import { AppError } from '../../domain/errors.js';

const RECOUNT_MS = 10_000;

/**
 * Anybody may register, so the machines that wait for approval are bounded. The count is taken every ten seconds at
 * most: a bound on growth, not an exact limit.
 */
export const createPendingQuota = (db: Knex, limit: number, clock: Clock): (() => Promise<void>) => {
  let waiting = 0;
  let countedAt = Number.NEGATIVE_INFINITY;
  let counting: Promise<void> | undefined;

  const recount = async (): Promise<void> => {
    waiting = (await countByStatus(db)).pending_approval ?? 0;
    countedAt = clock.now().getTime();
  };
  return async () => {
    if (limit === 0) return;
    if (clock.now().getTime() - countedAt > RECOUNT_MS) {
      counting ??= recount().finally(() => {
        counting = undefined;
      });
      await counting;
    }
    if (waiting >= limit) {
      throw new AppError('throttled', 'too many machines wait for approval; approve or reject some first', {
        retryAfterSeconds: 60,
        code: 'pending_limit',
      });
    }
  };
};
