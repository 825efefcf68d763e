import { oneOf } from './env.js';

export const logSettings = {
  LOG_LEVEL: oneOf(
    ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    'info',
    'Least level that is logged.',
  ),
};
