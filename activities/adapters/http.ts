import { isIP } from 'node:net';
import { Agent, buildConnector, request as send } from 'undici';
import { AppError } from '../../domain/errors.js';
import { createAddressGuard } from './address-guard.js';
import type { OutboundPolicy, Resolver } from './address-guard.js';

/**
 * Every outbound call of the product leaves here. A name is resolved once, every address of it is judged, and the
 * connection is made to the judged address, so that a second answer of the resolver cannot lead elsewhere.
 * Redirects are never followed, bodies are never decompressed.
 */

export interface OutboundRequest {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Limit for everything: name, connection, headers and the last byte of the body. Default 10,000. */
  readonly timeoutMs?: number;
  /** Bytes of the answer that are read; the rest is cut off. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Ends the call early. */
  readonly signal?: AbortSignal;
}

export interface OutboundResponse {
  readonly status: number;
  /** Names in lower case; repeated fields joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly truncated: boolean;
}

export interface Outbound {
  /** Throws `invalid` (code `address_refused`) before a packet is sent, or `unavailable` (code `timeout` | `dns` | `network`). */
  request(url: string, options?: OutboundRequest): Promise<OutboundResponse>;
  /** Judges a URL and every address its name has now, without connecting. Throws like `request`. */
  check(url: string): Promise<void>;
  close(): Promise<void>;
}

export interface OutboundOptions {
  readonly policy: OutboundPolicy;
  readonly resolver?: Resolver;
  /** Makes the socket to `hostname`, by then a judged address. Tests put a recorder here. */
  readonly dialer?: buildConnector.connector;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;

export const createOutbound = ({ policy, resolver, dialer }: OutboundOptions): Outbound => {
  const guard = createAddressGuard(policy, resolver);
  const dial = dialer ?? buildConnector({ timeout: DEFAULT_TIMEOUT_MS });

  const connect: buildConnector.connector = (options, callback) => {
    const { hostname, protocol, port } = options;
    const origin = new URL(`${protocol}//${hostname}${port === '' ? '' : `:${port}`}`).origin;
    guard.pin(hostname, origin).then(
      (address) => dial({ ...options, hostname: address, ...serverName(hostname) }, callback),
      (error: unknown) => callback(error as Error, null),
    );
  };
  const agent = new Agent({ connect, maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: 1_000 });

  return {
    check: async (url) => {
      const { hostname, origin } = guard.judgeUrl(url);
      await guard.pin(hostname, origin);
    },
    request: async (text, options = {}) => {
      const url = guard.judgeUrl(text);
      const timeout = AbortSignal.timeout(options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
      const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
      try {
        signal.throwIfAborted();
        const sent = send(url, {
          dispatcher: agent,
          method: options.method ?? 'GET',
          headers: { 'user-agent': 'Keystead/1', ...options.headers },
          body: options.body ?? null,
          signal,
        });
        const answer = await Promise.race([sent, rejectOn(signal)]);
        return {
          status: answer.statusCode,
          headers: flatten(answer.headers),
          ...(await readUpTo(answer.body, options.maxBytes ?? DEFAULT_MAX_BYTES)),
        };
      } catch (cause) {
        throw toAppError(cause, timeout.aborted);
      }
    },
    close: () => agent.destroy(),
  };
};

/** undici looks at a signal only once it is connected. */
const rejectOn = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });

/** TLS still asks for, and checks, the name that was called. */
const serverName = (hostname: string): { servername?: string } =>
  isIP(hostname.replace(/^\[(.*)\]$/, '$1')) === 0 ? { servername: hostname } : {};

const readUpTo = async (
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<{ body: Buffer; truncated: boolean }> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxBytes) break; // leaving the loop destroys the stream and its socket
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: size > maxBytes };
};

const flatten = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );

const toAppError = (cause: unknown, timedOut: boolean): AppError => {
  if (cause instanceof AppError) return cause;
  if (timedOut) return new AppError('unavailable', 'no complete answer in time', { cause, code: 'timeout' });
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'network error';
  return new AppError('unavailable', `request failed: ${code}`, { cause, code: 'network' });
};
