import { setTimeout as delay } from 'node:timers/promises';

const EVERY_MS = 50;

/** Asks until the answer is defined (or true); fails with the last error or answer after `withinMs`. */
export const eventually = async <T>(
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 20_000,
): Promise<T> => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    let problem: unknown = new Error('it did not happen');
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      problem = error;
    }
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms`, { cause: problem });
    await delay(EVERY_MS);
  }
};

/** Repeats an assertion until it holds. */
export const eventuallyHolds = (assertion: () => Promise<void> | void, withinMs?: number): Promise<true> =>
  eventually(async () => {
    await assertion();
    return true as const;
  }, withinMs);
