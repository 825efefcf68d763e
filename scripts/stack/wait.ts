import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 100;

/** Asks until `check` answers true; throws after `limitMs`, with the last reason. */
export const waitUntil = async (
  what: string,
  check: () => Promise<boolean>,
  limitMs: number,
): Promise<void> => {
  const deadline = performance.now() + limitMs;
  let reason: unknown;
  while (performance.now() < deadline) {
    try {
      if (await check()) return;
    } catch (error) {
      reason = error;
    }
    await delay(POLL_MS);
  }
  throw new Error(`${what} was not ready within ${limitMs / 1000} s`, { cause: reason });
};

/** Whether an HTTP address answers 2xx. */
export const answersOk = async (url: string): Promise<boolean> => {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  await response.arrayBuffer();
  return response.ok;
};
