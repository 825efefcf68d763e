import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createMemoryNonces } from '../../../activities/broker/memory-nonces.js';
import { drawNonce, nonceIdOf } from '../../../activities/broker/nonces.js';
import type { NonceStore } from '../../../activities/broker/nonces.js';
import { createPostgresNonces } from '../../../activities/broker/postgres-nonces.js';
import { connectDatabase } from '../../../db/connect.js';
import { AppError } from '../../../domain/errors.js';
import { testDatabase } from '../../support/postgres.js';
import type { TestDatabase } from '../../support/postgres.js';

/** A store whose time the test moves. */
interface Subject {
  readonly store: NonceStore;
  /** Another process on the same nonces, where there can be one. */
  readonly peer: NonceStore;
  readonly pass: (seconds: number) => Promise<void>;
}

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());

const inMemory = (capacity: number): Promise<Subject> => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const store = createMemoryNonces({ capacity, clock: { now: () => new Date(now) } });
  return Promise.resolve({
    store,
    peer: store,
    pass: (seconds) => ((now += seconds * 1000), Promise.resolve()),
  });
};

const pools: { destroy: () => Promise<void> }[] = [];
afterAll(() => Promise.all(pools.map((pool) => pool.destroy())));
const inPostgres = async (capacity: number): Promise<Subject> => {
  await database.db.raw('truncate nonces, nonce_holders');
  const other = connectDatabase({ DATABASE_URL: database.url, DATABASE_POOL_MAX: 20 }, 'second gateway');
  pools.push(other);
  return {
    store: createPostgresNonces({ db: database.db, capacity }),
    peer: createPostgresNonces({ db: other, capacity }),
    pass: async (seconds) => {
      await database.db.raw(
        'update nonces set expires_at = expires_at - make_interval(secs => ?), used_at = used_at - make_interval(secs => ?)',
        [seconds, seconds],
      );
    },
  };
};

const outcome = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: unknown) => {
      if (error instanceof AppError) return error.code ?? error.issues?.[0]?.type ?? error.kind;
      throw error;
    },
  );
const tally = (values: readonly string[]): Record<string, number> =>
  values.reduce<Record<string, number>>((sum, value) => ({ ...sum, [value]: (sum[value] ?? 0) + 1 }), {});

describe.each([
  ['memory', inMemory],
  ['postgres', inPostgres],
] as const)('nonces in %s', (_where, create) => {
  it('are 32 bytes under an id of 32 hex, live 60 s, and are given back once', async () => {
    const { store } = await create(100);
    const before = Date.now();
    const issued = await store.issue('192.0.2.1');
    expect(issued.nonce).toHaveLength(32);
    expect(issued.nonceId).toMatch(/^[0-9a-f]{32}$/);
    expect(nonceIdOf(issued.nonce)).toBe(issued.nonceId);
    if (create === inPostgres)
      expect(Math.abs(issued.expiresAt.getTime() - before - 60_000)).toBeLessThan(5_000);
    else expect(issued.expiresAt.toISOString()).toBe('2026-01-01T00:01:00.000Z');
    expect((await store.redeem(issued.nonceId)).equals(issued.nonce)).toBe(true);
    expect(await outcome(store.redeem(issued.nonceId))).toBe('nonce_used');
  });

  it('tell used, expired and unknown apart until both lifetimes are over', async () => {
    const { store, pass } = await create(100);
    const used = await store.issue('192.0.2.1');
    const left = await store.issue('192.0.2.1');
    await store.redeem(used.nonceId);
    await pass(59.9);
    const late = await store.issue('192.0.2.1');
    expect(await outcome(store.redeem(used.nonceId))).toBe('nonce_used');
    await pass(0.2);
    expect(await outcome(store.redeem(left.nonceId))).toBe('nonce_expired');
    expect(await outcome(store.redeem(left.nonceId))).toBe('nonce_expired');
    expect(await outcome(store.redeem(late.nonceId))).toBe('ok');
    await pass(59);
    expect(await outcome(store.redeem(left.nonceId))).toBe('nonce_expired');
    await pass(1);
    await store.issue('192.0.2.1');
    expect(await outcome(store.redeem(left.nonceId))).toBe('nonce_unknown');
    expect(await outcome(store.redeem('0'.repeat(32)))).toBe('nonce_unknown');
  });

  it('are accepted at 59.9 s', async () => {
    const { store, pass } = await create(100);
    const { nonceId } = await store.issue(undefined);
    await pass(59.9);
    expect(await outcome(store.redeem(nonceId))).toBe('ok');
  });

  it('weakness 17: one source holds a tenth at most, and others go on', async () => {
    const { store, pass } = await create(100);
    const mine = [];
    for (let n = 0; n < 10; n++) mine.push(await store.issue('192.0.2.1'));
    await expect(store.issue('192.0.2.1')).rejects.toMatchObject({
      kind: 'throttled',
      retryAfterSeconds: 10,
    });
    expect(await outcome(store.issue('192.0.2.2'))).toBe('ok');
    expect(await outcome(store.issue(undefined))).toBe('ok');
    await store.redeem(mine[3]!.nonceId);
    expect(await outcome(store.issue('192.0.2.1'))).toBe('ok');
    expect(await outcome(store.issue('192.0.2.1'))).toBe('nonces_exhausted');
    await pass(60.1);
    for (let n = 0; n < 10; n++) expect(await outcome(store.issue('192.0.2.1'))).toBe('ok');
    expect(await outcome(store.issue('192.0.2.1'))).toBe('nonces_exhausted');
  });

  it('are full at the capacity, and empty again when they lapse or are used', async () => {
    const { store, pass } = await create(20);
    const all = [];
    for (let n = 0; n < 20; n++) all.push(await store.issue(undefined));
    await pass(15);
    const full = store.issue(undefined);
    await expect(full).rejects.toMatchObject({ kind: 'throttled', code: 'nonces_exhausted' });
    const { retryAfterSeconds } = await full.then(
      () => new AppError('conflict', 'issued'),
      (error: unknown) => error as AppError,
    );
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(retryAfterSeconds).toBeLessThanOrEqual(60);
    await store.redeem(all[19]!.nonceId);
    expect(await outcome(store.issue('192.0.2.1'))).toBe('ok');
    expect(await outcome(store.issue('192.0.2.1'))).toBe('nonces_exhausted');
    await pass(46);
    const again = [];
    for (let n = 0; n < 20; n++) again.push(await outcome(store.issue(undefined)));
    expect(tally(again)).toEqual({ ok: 19, nonces_exhausted: 1 });
  });

  it('have exactly one winner of 1,000 parallel attempts by two gateways, round after round', async () => {
    const { store, peer } = await create(100);
    for (let round = 0; round < 5; round++) {
      const { nonceId } = await store.issue('192.0.2.1');
      const attempts = Array.from({ length: 1000 }, (_, n) =>
        outcome((n % 2 ? store : peer).redeem(nonceId)),
      );
      expect(tally(await Promise.all(attempts))).toEqual({ ok: 1, nonce_used: 999 });
    }
  });

  it('never exceed a limit under parallel issue by two gateways', async () => {
    const { store, peer } = await create(100);
    const attempts = Array.from({ length: 300 }, (_, n) =>
      outcome((n % 2 ? store : peer).issue(n % 3 === 0 ? undefined : `192.0.2.${n % 3}`)),
    );
    const results = await Promise.all(attempts);
    const bySource = (remainder: number) => tally(results.filter((_, n) => n % 3 === remainder))['ok'];
    expect([bySource(1), bySource(2)]).toEqual([10, 10]);
    expect(bySource(0)).toBe(80);
  });

  it('agree with a model over any order of issue, redeem and passing time', async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ act: fc.constant('issue' as const), source: fc.integer({ min: 0, max: 3 }) }),
      },
      { weight: 4, arbitrary: fc.record({ act: fc.constant('redeem' as const), index: fc.nat(30) }) },
      {
        weight: 1,
        arbitrary: fc.record({ act: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 70 }) }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { store, pass } = await create(20);
        const model: { id: string; source: string | undefined; age: number; used: boolean }[] = [];
        const held = (source?: string) =>
          model.filter((n) => !n.used && n.age < 60 && (source === undefined || n.source === source)).length;
        for (const s of steps) {
          if (s.act === 'pass') {
            await pass(s.seconds);
            for (const n of model) n.age += s.seconds;
          } else if (s.act === 'issue') {
            const source = s.source === 0 ? undefined : `192.0.2.${s.source}`;
            const free = held() < 20 && (source === undefined || held(source) < 2);
            const issued = await store.issue(source).catch(() => undefined);
            expect(issued !== undefined).toBe(free);
            if (issued) model.push({ id: issued.nonceId, source, age: 0, used: false });
          } else {
            const known = model[s.index % Math.max(1, model.length)];
            if (known === undefined) continue;
            const { age, used } = known;
            const result = await outcome(store.redeem(known.id));
            if (age >= 120)
              expect(['nonce_unknown', used ? 'nonce_used' : 'nonce_expired']).toContain(result);
            else expect(result).toBe(used ? 'nonce_used' : age >= 60 ? 'nonce_expired' : 'ok');
            if (result === 'ok') known.used = true;
          }
        }
      }),
      { numRuns: create === inMemory ? 500 : 25 },
    );
  }, 120_000);
});

describe('nonce bytes', () => {
  it('never begin like what a TPM attests: drawn again', () => {
    const generated = Buffer.concat([Buffer.from('ff544347', 'hex'), Buffer.alloc(28)]);
    const fine = Buffer.concat([Buffer.from('ff544348', 'hex'), Buffer.alloc(28)]);
    const draws = [generated, generated, fine];
    expect(drawNonce(() => draws.shift()!)).toBe(fine);
    expect(draws).toEqual([]);
  });
});

describe('memory store', () => {
  it('does not keep nonces alive when the clock is set back', async () => {
    let now = 10_000_000;
    const store = createMemoryNonces({ capacity: 10, clock: { now: () => new Date(now) } });
    const early = await store.issue(undefined);
    now += 50_000;
    await store.issue(undefined);
    now -= 3_600_000;
    const after = await store.issue(undefined);
    now += 10_000;
    expect(await outcome(store.redeem(early.nonceId))).toBe('nonce_expired');
    expect(await outcome(store.redeem(after.nonceId))).toBe('ok');
  });

  it('bounds what it remembers: beyond it the oldest are unknown, never accepted again', async () => {
    const store = createMemoryNonces({ capacity: 10, clock: { now: () => new Date(0) } });
    const first = await store.issue(undefined);
    await store.redeem(first.nonceId);
    for (let n = 0; n < 320; n++) await store.redeem((await store.issue(undefined)).nonceId);
    expect(await outcome(store.redeem(first.nonceId))).toBe('nonce_unknown');
  });
});
