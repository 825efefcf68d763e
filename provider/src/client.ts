import { setTimeout as pause } from 'node:timers/promises';

/** Where the service is and who calls. */
export interface Connection {
  readonly endpoint: string;
  readonly token: string;
}

export interface CallOptions {
  readonly body?: object;
  /** Statuses that are an answer and no error; others beyond 2xx throw. */
  readonly accept?: readonly number[];
  /** Instead of the connection's token. */
  readonly token?: string | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Says what was tried and, in the service's own words, why it was refused. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number | undefined;
  readonly detail: string;
  constructor(what: string, detail: string, status?: number) {
    super(status === undefined ? `${what}: ${detail}` : `${what}: ${detail} (HTTP ${status})`);
    this.status = status;
    this.detail = detail;
  }
}

export type Wait = (milliseconds: number) => Promise<unknown>;

export interface ClientOptions {
  readonly fetch?: typeof fetch;
  readonly wait?: Wait;
}

const ATTEMPTS = 7;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const REQUEST_TIMEOUT_MS = 60_000;
const MAX_DETAIL = 2_000;
/** Too many requests, and away for now: both ask the caller to come back. */
const TEMPORARY: ReadonlySet<number> = new Set([429, 503]);

/**
 * Calls the REST API. 429, 503 and a service that cannot be reached are tried again, for as long as `Retry-After`
 * says or with doubling pauses; every call of the provider may be repeated without harm.
 */
export const createClient = ({ fetch: send = fetch, wait = (ms) => pause(ms) }: ClientOptions = {}) => {
  const once = async (
    connection: Connection,
    what: string,
    method: string,
    path: string,
    options: CallOptions,
  ): Promise<Response | ServiceError> => {
    try {
      return await send(new URL(`.${path}`, `${connection.endpoint.replace(/\/+$/, '')}/`), {
        method,
        headers: {
          accept: 'application/json',
          authorization: `Bearer ${options.token ?? connection.token}`,
          ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
    } catch (error) {
      return new ServiceError(what, `${connection.endpoint} cannot be reached: ${reasonOf(error)}`);
    }
  };

  return async (
    connection: Connection,
    what: string,
    method: 'GET' | 'POST',
    path: string,
    options: CallOptions = {},
  ): Promise<Answer> => {
    for (let attempt = 1; ; attempt += 1) {
      const response = await once(connection, what, method, path, options);
      const isLast = attempt === ATTEMPTS;
      if (response instanceof ServiceError) {
        if (isLast) throw response;
        await wait(pauseBefore(attempt, null));
        continue;
      }
      if (TEMPORARY.has(response.status) && !isLast) {
        await response.body?.cancel();
        await wait(pauseBefore(attempt, response.headers.get('retry-after')));
        continue;
      }
      const body = await readJson(response);
      if (response.ok || options.accept?.includes(response.status)) return { status: response.status, body };
      throw new ServiceError(what, detailOf(body, response.statusText), response.status);
    }
  };
};
export type Call = ReturnType<typeof createClient>;

const pauseBefore = (attempt: number, retryAfter: string | null): number => {
  const asked = retryAfter === null ? NaN : Number(retryAfter) * 1_000;
  const backoff = FIRST_PAUSE_MS * 2 ** (attempt - 1);
  return Math.min(LONGEST_PAUSE_MS, Number.isFinite(asked) && asked >= 0 ? asked : backoff);
};

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== '' ? cause.message : error.message;
};

const readJson = async (response: Response): Promise<Answer['body']> => {
  const text = await response.text();
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Answer['body']) : { detail: text };
  } catch {
    return { detail: text.slice(0, 200) };
  }
};

interface Issue {
  readonly loc?: readonly (string | number)[];
  readonly msg?: string;
}

/** `detail` is a sentence or, with 422, a list of issues. */
const detailOf = (body: Answer['body'], fallback: string): string => {
  const { detail } = body;
  if (typeof detail === 'string' && detail !== '') return detail.slice(0, MAX_DETAIL);
  if (!Array.isArray(detail)) return fallback;
  return (detail as readonly Issue[])
    .map(({ loc = [], msg = '' }) => `${loc.filter((part) => part !== 'body').join('.')}: ${msg}`)
    .join('; ')
    .slice(0, MAX_DETAIL);
};
