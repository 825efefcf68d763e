import type { Logger } from '../../domain/logger.js';

/** Swallows every line. */
export const silentLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** A logger whose lines a test can look at. */
export const recordingLog = (): Logger & { readonly lines: string[] } => {
  const lines: string[] = [];
  const line = (fields: object, message: string): void => {
    const text = JSON.stringify(fields, (_key, value: unknown) =>
      value instanceof Error ? value.stack : value,
    );
    lines.push(`${message} ${text}`);
  };
  return { lines, debug: line, info: line, warn: line, error: line };
};
