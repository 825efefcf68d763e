import { isRestError } from '@azure/core-rest-pipeline';
import { AppError } from '../../../domain/errors.js';
import type { ErrorKind } from '../../../domain/errors.js';
import { isRetryableFault } from '../../../domain/vending/arm-errors.js';
import type { CloudFault } from '../../../domain/vending/arm-errors.js';

const CALL_TIMEOUT_MS = 30_000;
const MAX_DETAIL_CHARS = 300;
const MAX_WAIT_SECONDS = 300;

/** OAuth errors that the same credentials will get again (RFC 6749 section 5.2); the SDK has them in the text only. */
const TOKEN_REFUSAL = /^(invalid_client|unauthorized_client|invalid_scope|invalid_request|access_denied)\b/;

/**
 * Makes one call to the cloud. What may pass later is thrown as `unavailable`, with the wait that the service asked for;
 * the rest under the kind of its status. `code` is the service's own.
 */
export const cloudCall = async <T>(
  what: string,
  call: (options: { abortSignal: AbortSignal }) => Promise<T>,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<T> => {
  try {
    return await call({ abortSignal: AbortSignal.timeout(timeoutMs) });
  } catch (error) {
    throw toAppError(what, error);
  }
};

/** Status and code of a failed call, wherever in the chain of causes they are. */
export const faultOf = (error: unknown): CloudFault => {
  const rest = error instanceof AppError ? error.cause : error;
  if (isRestError(rest)) return { status: rest.statusCode, code: rest.code };
  const refusal = rest instanceof Error ? TOKEN_REFUSAL.exec(rest.message)?.[0] : undefined;
  if (refusal !== undefined) return { status: 401, code: refusal };
  return { status: undefined, code: undefined };
};

const kindOf = (status: number | undefined): ErrorKind => {
  if (status === 401 || status === 403) return 'forbidden';
  if (status === 404) return 'not_found';
  if (status === 409 || status === 412) return 'conflict';
  return 'invalid';
};

const toAppError = (what: string, error: unknown): AppError => {
  const fault = faultOf(error);
  const code = fault.code ?? (fault.status === undefined ? 'no answer' : `status ${fault.status}`);
  const detail = error instanceof Error ? error.message.slice(0, MAX_DETAIL_CHARS) : '';
  return new AppError(
    isRetryableFault(fault) ? 'unavailable' : kindOf(fault.status),
    `${what}: ${code}: ${detail}`,
    {
      cause: error,
      code,
      retryAfterSeconds: retryAfter(error),
    },
  );
};

const retryAfter = (error: unknown): number | undefined => {
  const text = isRestError(error) ? error.response?.headers.get('retry-after') : undefined;
  const seconds = Number(text);
  return text === undefined || !Number.isFinite(seconds)
    ? undefined
    : Math.min(Math.max(seconds, 0), MAX_WAIT_SECONDS);
};
