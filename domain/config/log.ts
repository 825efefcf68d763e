import { oneOf } from './env.js';
import type { Settings } from './env.js';

export const logSettings = {
  LOG_LEVEL: oneOf(
    ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    'info',
    'Least level that is logged.',
  ),
};

export type LogConfig = Settings<typeof logSettings>;
