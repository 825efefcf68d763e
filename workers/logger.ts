import { DefaultLogger } from '@temporalio/worker';
import type { LogLevel } from '@temporalio/worker';
import type { Logger } from '../domain/logger.js';

/** Sends the SDK's log lines, from workflows and activities too, to ours. */
export const runtimeLogger = (log: Logger): DefaultLogger =>
  new DefaultLogger('INFO', ({ level, message, meta }) => {
    lineAt(log, level)(plain(meta), message);
  });

const lineAt = (log: Logger, level: LogLevel): Logger['info'] => {
  switch (level) {
    case 'ERROR':
      return log.error.bind(log);
    case 'WARN':
      return log.warn.bind(log);
    case 'INFO':
      return log.info.bind(log);
    case 'DEBUG':
    case 'TRACE':
      return log.debug.bind(log);
  }
};

const plain = (meta: unknown): object =>
  Object.fromEntries(
    Object.entries(meta ?? {}).map(([key, value]) => [
      key,
      typeof value === 'bigint' ? Number(value) : value,
    ]),
  );
