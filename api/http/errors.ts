import type { Middleware } from 'koa';
import { AppError } from '../../domain/errors.js';
import type { ErrorKind } from '../../domain/errors.js';
import type { RequestState } from './state.js';

/** The one place that knows status codes. */
export const statusOf: Readonly<Record<ErrorKind, number>> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  not_acceptable: 406,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unsupported_media: 415,
  invalid: 422,
  throttled: 429,
  failed: 500,
  unavailable: 503,
};

/** What a client sees of an error: the status, and a body in the dialect of its API. */
export interface RenderedError {
  readonly status: number;
  readonly message: string;
  readonly error?: AppError;
}
export type ErrorBody = (rendered: RenderedError) => object;

/** `{"detail": string}`, and a list of issues for 422: the broker's and the vending service's dialect. */
export const detailBody: ErrorBody = ({ error, message, status }) => {
  if (status !== statusOf.invalid) {
    return error?.code === undefined ? { detail: message } : { detail: message, code: error.code };
  }
  const issues = error?.issues ?? [{ loc: ['body'], msg: message, type: error?.code ?? 'value_error' }];
  return { detail: issues };
};

const asHttpError = (error: unknown): { status: number; message: string } | undefined => {
  if (!(error instanceof Error)) return undefined;
  const { status, expose } = error as { status?: unknown; expose?: unknown };
  return typeof status === 'number' && status >= 400 && status < 500 && expose === true
    ? { status, message: error.message }
    : undefined;
};

/** PostgreSQL or its pool is away: the caller may come back. */
const databaseIsAway = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: unknown }).code;
  if (error.name === 'KnexTimeoutError') return true;
  if (typeof code !== 'string')
    return /Connection terminated|timeout expired|Client has encountered/.test(error.message);
  return (
    /^(08|57P|53)/.test(code) ||
    ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', '25006', '40P01', '40001'].includes(code)
  );
};

const render = (error: unknown): RenderedError | undefined => {
  if (error instanceof AppError) return { status: statusOf[error.kind], message: error.message, error };
  if (databaseIsAway(error)) {
    const away = new AppError('unavailable', 'the database cannot be reached; try again', {
      retryAfterSeconds: 2,
    });
    return { status: statusOf.unavailable, message: away.message, error: away };
  }
  return asHttpError(error);
};

/** Turns every error into an answer. What nobody foresaw is a 500 that says nothing but the request id, and one error line. */
export const handleErrors =
  (body: ErrorBody): Middleware<RequestState> =>
  async (ctx, next) => {
    try {
      await next();
      // the router's word for a method that it has no route for at all; to a client it is one not allowed here
      if (ctx.status === 501) ctx.status = 405;
      if (ctx.status >= 400 && ctx.body === undefined) {
        const { status } = ctx;
        ctx.body = body({ status, message: status === 405 ? 'Method Not Allowed' : 'Not Found' });
        ctx.status = status;
      }
    } catch (thrown) {
      const rendered = render(thrown) ?? { status: 500, message: 'Internal Server Error' };
      ctx.status = rendered.status;
      ctx.body = body(rendered);
      ctx.remove('ETag');
      setHeaders(ctx, rendered);
      if (rendered.status >= 500)
        ctx.state.log.error({ err: thrown, requestId: ctx.state.requestId }, 'request failed');
      else ctx.state.refusal = rendered.message;
    }
  };

const setHeaders = (
  ctx: { set: (name: string, value: string) => void },
  { error, status }: RenderedError,
): void => {
  if (error?.retryAfterSeconds !== undefined)
    ctx.set('Retry-After', String(Math.ceil(error.retryAfterSeconds)));
  if (status === statusOf.unauthenticated) ctx.set('WWW-Authenticate', 'Bearer');
};
