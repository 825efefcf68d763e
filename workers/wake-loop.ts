import { listen } from '../db/listen.js';
import type { Logger } from '../domain/logger.js';

interface WakeLoopOptions {
  readonly name: string;
  readonly databaseUrl: string;
  /** Notifications on these channels wake the loop. */
  readonly channels: readonly string[];
  readonly log: Logger;
  /** Longest pause: finds what a lost notification or a crash left. */
  readonly sweepMs: number;
  /** One round; true when there may be more to do at once. */
  readonly work: () => Promise<boolean>;
}

export interface WakeLoop {
  /** Lets the round in hand finish. */
  readonly stop: () => Promise<void>;
}

/** Repeats `work` until there is no more, then waits for a notification or the sweep. Errors are logged and tried again. */
export const startWakeLoop = (options: WakeLoopOptions): WakeLoop => {
  const { name, databaseUrl, channels, log, sweepMs, work } = options;
  let stopping = false;
  let woken = false;
  let wake = (): void => undefined;
  const nudge = (): void => {
    woken = true;
    wake();
  };
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      if (woken) {
        resolve();
        return;
      }
      const timer = setTimeout(resolve, sweepMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const loop = async (): Promise<void> => {
    while (!stopping) {
      woken = false;
      try {
        if (await work()) continue;
      } catch (error) {
        log.warn({ err: error }, `${name}: trying again`);
      }
      await pause();
    }
  };
  const listener = listen({ databaseUrl, channels, log, onNotification: nudge });
  const running = loop();
  return {
    stop: async () => {
      stopping = true;
      nudge();
      await running;
      await listener.stop();
    },
  };
};
