import { AppError } from '../../domain/errors.js';
import type { ErrorKind } from '../../domain/errors.js';
import type { OutboundResponse } from './http.js';

const RETRYABLE = new Set([408, 425, 429]);
const MAX_WAIT_SECONDS = 300;

/** Throws for anything but 2xx: `unavailable` when the far end may do better later, the kind of its status otherwise. */
export const expectSuccess = (who: string, { status, headers }: OutboundResponse): void => {
  if (status >= 200 && status < 300) return;
  const later = status >= 500 || RETRYABLE.has(status);
  const wait = Number(headers['retry-after']);
  throw new AppError(later ? 'unavailable' : refusal(status), `${who} answered ${status}`, {
    retryAfterSeconds: later && wait > 0 ? Math.min(wait, MAX_WAIT_SECONDS) : undefined,
  });
};

const refusal = (status: number): ErrorKind => {
  if (status === 401 || status === 403) return 'forbidden';
  return status === 404 ? 'not_found' : 'invalid';
};

export const jsonOf = (who: string, { body, truncated }: OutboundResponse): unknown => {
  try {
    if (!truncated) return JSON.parse(body.toString('utf8'));
  } catch {
    // said below
  }
  throw new AppError('unavailable', `${who} sent no JSON`);
};
