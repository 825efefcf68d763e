import { createLocalJWKSet } from 'jose';
import type { JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import type { Outbound } from '../../activities/adapters/http.js';
import type { Logger } from '../../domain/logger.js';

/** An issuer's identifier as it writes it, and its public keys. */
export interface IssuerKeys {
  readonly issuer: string;
  readonly find: JWTVerifyGetKey;
  /** Changes with every fetch: what was verified under another one may no longer hold. */
  readonly generation: number;
}

export interface IssuerKeySource {
  /** The keys as last seen, fetched first when there are none or they are old; undefined when none can be had. */
  current(): Promise<IssuerKeys | undefined>;
  /** Fetches again because a token names a key that is not there, unless that was done too often lately. */
  again(): Promise<IssuerKeys | undefined>;
}

interface IssuerKeyOptions {
  /** Without a slash at its end. */
  readonly issuer: string;
  readonly outbound: Outbound;
  readonly log: Logger;
  /** Milliseconds that never go back. */
  readonly elapsed?: () => number;
  readonly timeoutMs?: number;
}

/** Discovery and key set together may take this long; then the next method is tried. */
const FETCH_TIMEOUT_MS = 4_000;
/** Older keys are fetched again, beside the request that noticed. */
const FRESH_MS = 5 * 60_000;
/** Keys go on while the issuer is away, but not for ever: it may have withdrawn one meanwhile. */
const USABLE_MS = 24 * 3_600_000;
/** Fetches that tokens with unknown keys may cause: five at once, one more every ten seconds. */
const FETCH_BURST = 5;
const FETCH_INTERVAL_MS = 10_000;
const MAX_BYTES = 1_048_576;
const MAX_KEYS = 1_000;

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.string() });
const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(MAX_KEYS) });

/** OpenID Connect Discovery 1.0 and the JWKS it names. Nothing in a token can make it call anywhere else. */
export const createIssuerKeySource = (options: IssuerKeyOptions): IssuerKeySource => {
  const { issuer, log, outbound } = options;
  const elapsed = options.elapsed ?? (() => performance.now());
  const mayFetch = createBudget(FETCH_BURST, FETCH_INTERVAL_MS, elapsed);
  let known: { readonly keys: IssuerKeys; readonly at: number } | undefined;
  let running: Promise<void> | undefined;

  const getJson = async <T>(url: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> => {
    const answer = await outbound.request(url, {
      signal,
      maxBytes: MAX_BYTES,
      headers: { accept: 'application/json' },
    });
    if (answer.status !== 200 || answer.truncated)
      throw new Error(`no usable answer from ${url}: ${answer.status}`);
    return schema.parse(JSON.parse(answer.body.toString('utf8')));
  };
  const fetchKeys = async (): Promise<void> => {
    const signal = AbortSignal.timeout(options.timeoutMs ?? FETCH_TIMEOUT_MS);
    const discovery = await getJson(`${issuer}/.well-known/openid-configuration`, Discovery, signal);
    if (discovery.issuer !== issuer && discovery.issuer !== `${issuer}/`)
      throw new Error('the discovery document names another issuer');
    const set = await getJson(discovery.jwks_uri, KeySet, signal);
    const keys = {
      issuer: discovery.issuer,
      find: createLocalJWKSet(set),
      generation: (known?.keys.generation ?? 0) + 1,
    };
    known = { keys, at: elapsed() };
  };
  /** One fetch at a time; a failed one leaves what is known. */
  const refresh = (): Promise<void> => {
    if (running === undefined && mayFetch())
      running = fetchKeys()
        .catch((error: unknown) =>
          log.warn({ err: error, issuer }, 'keys of the OIDC issuer cannot be fetched'),
        )
        .finally(() => (running = undefined));
    return running ?? Promise.resolve();
  };
  const usable = (): IssuerKeys | undefined =>
    known !== undefined && elapsed() - known.at < USABLE_MS ? known.keys : undefined;

  return {
    current: async () => {
      if (usable() === undefined) await refresh();
      else if (known !== undefined && elapsed() - known.at > FRESH_MS) void refresh();
      return usable();
    },
    again: async () => {
      await refresh();
      return usable();
    },
  };
};

/** Leaky budget: `burst` at once, then one per interval. */
const createBudget = (burst: number, intervalMs: number, elapsed: () => number): (() => boolean) => {
  let fullAt = -Infinity;
  return () => {
    const now = elapsed();
    const next = Math.max(fullAt, now) + intervalMs;
    if (next - now > burst * intervalMs) return false;
    fullAt = next;
    return true;
  };
};
