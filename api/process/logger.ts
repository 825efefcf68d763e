import { pino } from 'pino';
import type { Logger as PinoLogger } from 'pino';

/** Keys whose values never reach a log line, at the top of the fields or one level down. */
const secretKeys = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'config_token',
  'configToken',
  'config_url',
  'configUrl',
  'value',
  'plaintext',
  'privateKey',
  'SVC_ADMIN_TOKEN',
  'DATABASE_URL',
];

/** JSON lines on stdout, with secrets cut out by name. */
export const createLogger = (name: string, level: string): PinoLogger =>
  pino({
    name,
    level,
    redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '***' },
    serializers: { err: serializeError },
  });

/** Type, message and stack of an error and its causes; never its other fields (a driver puts bound values there). */
const serializeError = (error: unknown): unknown => {
  if (!(error instanceof Error)) return String(error);
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined ? {} : { cause: serializeError(error.cause) }),
  };
};
