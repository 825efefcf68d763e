import type { Logger } from '../../domain/logger.js';

/** Swallows every line. */
export const silentLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
