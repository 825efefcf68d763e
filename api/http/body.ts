import type { Middleware } from 'koa';
import { koaBody } from 'koa-body';
import { AppError } from '../../domain/errors.js';

export const MEBIBYTE = 1_048_576;

interface BodyOptions {
  readonly limitBytes?: number;
  /** How this API calls a body that is no JSON: 422 (`invalid`) or 400 (`malformed`). */
  readonly notJson?: 'invalid' | 'malformed';
}

/** Reads a JSON body into `ctx.request.body`; an absent body is `undefined`. Errors are AppErrors. */
export const jsonBody = ({ limitBytes = MEBIBYTE, notJson = 'invalid' }: BodyOptions = {}): Middleware => {
  const parse = koaBody({
    json: true,
    text: false,
    urlencoded: false,
    multipart: false,
    jsonStrict: false,
    jsonLimit: limitBytes,
    parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
    jsonTypes: ['json', '+json', 'application/csp-report'],
    onError: (error) => {
      throw error;
    },
  });
  return async (ctx, next) => {
    if (ctx.request.length > limitBytes) {
      ctx.set('Connection', 'close');
      throw tooLarge(limitBytes);
    }
    const isRead = ctx.req.readableEnded;
    if (isRead || !hasBody(ctx.req.headers)) {
      await next();
      return;
    }
    if (!isJson(ctx.get('Content-Type'))) {
      throw new AppError('unsupported_media', 'send the body as application/json');
    }
    try {
      await parse(ctx, () => Promise.resolve());
    } catch (cause) {
      const error = bodyError(cause, limitBytes, notJson);
      if (error instanceof AppError && error.kind === 'too_large') ctx.set('Connection', 'close');
      throw error;
    }
    await next();
  };
};

const isJson = (type: string): boolean => /^application\/([\w.-]+\+)?json\b/i.test(type);

const hasBody = (headers: Readonly<Record<string, string | string[] | undefined>>): boolean =>
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] !== undefined && headers['content-length'] !== '0');

const tooLarge = (limitBytes: number): AppError =>
  new AppError('too_large', `the body may have ${limitBytes} bytes at most`);

const bodyError = (error: unknown, limitBytes: number, notJson: 'invalid' | 'malformed'): unknown => {
  const { status, type, code, message } = error as {
    status?: number;
    type?: string;
    code?: string;
    message?: string;
  };
  if (status === 413 || type === 'entity.too.large') return tooLarge(limitBytes);
  if (status === 415)
    return new AppError('unsupported_media', 'the body has an unknown Content-Encoding or charset');
  if (/\bZ_[A-Z]+_ERROR\b|\bERR_+BROTLI/.test(`${code} ${message}`)) {
    const msg = 'the body is not what its Content-Encoding says';
    return new AppError(notJson, msg, { issues: [{ loc: ['body'], msg, type: 'encoding_invalid' }] });
  }
  if (error instanceof SyntaxError || status === 400) {
    const msg = 'the body is not valid JSON';
    return new AppError(notJson, msg, { issues: [{ loc: ['body'], msg, type: 'json_invalid' }] });
  }
  return error;
};
