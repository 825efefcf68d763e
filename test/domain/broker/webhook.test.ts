import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  DEAD_AFTER_MS,
  afterFailure,
  judgeAttempt,
  parseRetryAfter,
  parseSchedule,
  retryDelayMs,
  webhookBody,
} from '../../../domain/broker/webhook.js';

const HOUR = 3_600_000;
const at = (hours: number): Date => new Date(Date.UTC(2026, 0, 1) + hours * HOUR);

describe('webhook body', () => {
  it('has the four fields of the specification', () => {
    const event = {
      eventType: 'machine.revoked',
      machineId: 'm',
      data: { reason: null, wipe: true },
    } as const;
    expect(webhookBody(event, '2026-01-01T00:00:00.000Z')).toBe(
      '{"event_type":"machine.revoked","timestamp":"2026-01-01T00:00:00.000Z","machine_id":"m","data":{"reason":null,"wipe":true}}',
    );
  });
});

describe('judging an answer', () => {
  it.each([
    [200, 'delivered'],
    [204, 'delivered'],
    [299, 'delivered'],
    [199, 'failed'],
    [301, 'failed'],
    [307, 'failed'],
    [404, 'failed'],
    [410, 'gone'],
    [429, 'failed'],
    [500, 'failed'],
    [null, 'failed'],
  ] as const)('%p is %s', (status, verdict) => {
    expect(judgeAttempt(status)).toBe(verdict);
  });
});

describe('retry schedule', () => {
  it('reads the default of the specification', () => {
    expect(parseSchedule('5s, 5m, 30m, 2h')).toEqual([5_000, 300_000, 1_800_000, 7_200_000]);
    expect(parseSchedule('250ms')).toEqual([250]);
    for (const bad of ['', '5', '5d', '-5s', '5s,,6s', '1e3s', '5 s'])
      expect(parseSchedule(bad)).toBeUndefined();
  });

  it('stays within 10 % of the schedule, ends with it, and never waits less than a bounded Retry-After', () => {
    const schedule = [5_000, 300_000, 7_200_000];
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.option(fc.integer({ min: 0, max: 100 * HOUR }), { nil: undefined }),
        (attempts, random, retryAfterMs) => {
          const delay = retryDelayMs({ schedule, attempts, random, retryAfterMs });
          const pause = schedule[attempts - 1];
          if (pause === undefined) return delay === undefined;
          const asked = Math.min(retryAfterMs ?? 0, HOUR);
          return delay! >= Math.max(asked, pause * 0.9 - 1) && delay! <= Math.max(asked, pause * 1.1 + 1);
        },
      ),
    );
  });

  it.each([
    ['120', 120_000],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['-1', undefined],
    ['soon', undefined],
    ['1e9', undefined],
    ['99999999999', undefined],
    ['2026-01-01T00:01:00Z', undefined],
    [undefined, undefined],
  ])('reads Retry-After %p as %p', (value, expected) => {
    expect(parseRetryAfter(value, at(0))).toBe(expected);
  });
});

describe('dead endpoints', () => {
  const failures = (hours: readonly number[]) => {
    let health: ReturnType<typeof afterFailure> | { failingSince: null; lastFailureAt: null } = {
      failingSince: null,
      lastFailureAt: null,
    };
    return hours.map((hour) => {
      health = afterFailure(health, at(hour));
      return health.dead;
    });
  };

  it('are those that failed for five days on end', () => {
    expect(failures([0, 24, 48, 72, 96, 119, 120])).toEqual([false, false, false, false, false, false, true]);
  });

  it('are not those that were asked too rarely to tell', () => {
    expect(failures([0, 24 * 10, 24 * 20])).toEqual([false, false, false]);
  });

  it('are judged anew after a success', () => {
    const later = afterFailure(
      { failingSince: null, lastFailureAt: at(0) },
      new Date(at(0).getTime() + DEAD_AFTER_MS),
    );
    expect(later.dead).toBe(false);
  });
});
