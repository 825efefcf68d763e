/** What went wrong, in the product's own words. Only api/http/errors.ts knows status codes. */
export type ErrorKind =
  | 'malformed'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'not_acceptable'
  | 'conflict'
  | 'gone'
  | 'too_large'
  | 'unsupported_media'
  | 'invalid'
  | 'throttled'
  /** The work that was asked for was done and did not succeed. */
  | 'failed'
  | 'unavailable';

/** One problem with one field of a request; `loc` is its path, beginning with `body`, `query`, `path` or `header`. */
export interface Issue {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
}

interface AppErrorOptions extends ErrorOptions {
  readonly issues?: readonly Issue[] | undefined;
  /** Seconds until a retry makes sense; becomes `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  /** Machine-readable cause beside the text, e.g. `nonce_consumed`. */
  readonly code?: string | undefined;
}

/** An error whose message may be shown to the caller. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly kind: ErrorKind;
  readonly issues: readonly Issue[] | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly code: string | undefined;

  constructor(kind: ErrorKind, message: string, options: AppErrorOptions = {}) {
    super(message, options);
    this.kind = kind;
    this.issues = options.issues;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.code = options.code;
  }
}

const kinds: ReadonlySet<string> = new Set<ErrorKind>([
  'malformed',
  'unauthenticated',
  'forbidden',
  'not_found',
  'not_acceptable',
  'conflict',
  'gone',
  'too_large',
  'unsupported_media',
  'invalid',
  'throttled',
  'failed',
  'unavailable',
]);

export const isErrorKind = (text: string): text is ErrorKind => kinds.has(text);

/** A rule of the service broken by one field: 422 in the same shape as a schema error. */
export const invalidField = (field: string, msg: string, type = 'value_error'): AppError =>
  new AppError('invalid', msg, { issues: [{ loc: ['body', field], msg, type }] });
