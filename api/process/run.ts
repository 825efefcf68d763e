import { ConfigError } from '../../domain/config/env.js';
import type { Logger } from '../../domain/logger.js';

/** A part of a process that was started and must be stopped, in the reverse order of starting. */
export type Stop = () => Promise<void>;

export interface ProcessScope {
  readonly onStop: (stop: Stop) => void;
  /** Ends the process with an error when this settles with one. */
  readonly watch: (work: Promise<unknown>) => void;
}

const FORCE_MS = 15_000;

/**
 * Runs a service until SIGTERM or SIGINT: stops its parts in reverse order and exits 0; exits 1 when it cannot start
 * or a part fails. A configuration that does not parse is told without a stack.
 */
export const runProcess = async (
  log: Logger,
  start: (scope: ProcessScope) => Promise<void>,
): Promise<void> => {
  const stops: Stop[] = [];
  let stopping = false;

  const stopAll = async (code: number, why: string): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'stopping');
    setTimeout(() => process.exit(code === 0 ? 1 : code), FORCE_MS).unref();
    for (const stop of stops.reverse()) {
      await stop().catch((error: unknown) => {
        log.warn({ err: error }, 'a part did not stop cleanly');
      });
    }
    log.info({}, 'stopped');
    process.exit(code);
  };
  const fail = (error: unknown): void => {
    if (error instanceof ConfigError) process.stderr.write(`${error.message}\n`);
    else log.error({ err: error }, 'the process cannot go on');
    void stopAll(1, 'error');
  };

  process.once('SIGTERM', () => void stopAll(0, 'SIGTERM'));
  process.once('SIGINT', () => void stopAll(0, 'SIGINT'));
  process.on('unhandledRejection', fail);
  process.on('uncaughtException', fail);
  try {
    await start({ onStop: (stop) => stops.push(stop), watch: (work) => void work.catch(fail) });
  } catch (error) {
    fail(error);
  }
};

const RETRY_MS = 1_000;
const PATIENCE_MS = 120_000;

/** Parts may start in any order: tries until the outside part answers, for two minutes. */
export const retryUntilUp = async <T>(log: Logger, what: string, attempt: () => Promise<T>): Promise<T> => {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > until) throw error;
      log.warn({ err: error }, `waiting for the ${what}`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
};
