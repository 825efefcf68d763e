import { createHash } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import type { IssuerKeys, IssuerKeySource } from './issuer-keys.js';

interface TokenCheckOptions {
  /** Without a slash at its end. */
  readonly issuer: string;
  /** `aud` that a token must carry; not checked when undefined. */
  readonly audience: string | undefined;
  readonly keys: IssuerKeySource;
  /** Signature algorithms to accept; all asymmetric ones when undefined. */
  readonly algorithms?: readonly string[];
}

/** The claims of a token that the issuer signed and that holds now; undefined for anything else. */
export type TokenCheck = (token: string) => Promise<JWTPayload | undefined>;

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'PS256', 'PS384', 'PS512'];
/** Access tokens (RFC 9068) and what came before them; not logout, DPoP or other tokens of the same issuer. */
const TYPES = [undefined, 'jwt', 'at+jwt', 'application/at+jwt'];
const MAX_TOKEN_CHARACTERS = 16_384;
const CLOCK_TOLERANCE_SECONDS = 5;
const REMEMBER_MS = 30_000;
const REMEMBERED_TOKENS = 2_000;

/**
 * Verifies access tokens (RFC 7519, RFC 8725). The keys come from the issuer's key set only: `jku`, `x5u`, `x5c` and
 * `jwk` in a token are never looked at. A verified token is remembered by its SHA-256 for 30 s, never beyond its
 * `exp`, and forgotten when the keys are fetched anew: within that time verifying again could not end otherwise.
 */
export const createTokenCheck = (options: TokenCheckOptions): TokenCheck => {
  const { audience, issuer, keys, algorithms = ALGORITHMS } = options;
  const remembered = new LRUCache<string, JWTPayload>({ max: REMEMBERED_TOKENS });

  const verify = async (
    token: string,
    { find, issuer }: IssuerKeys,
  ): Promise<JWTPayload | 'unknown_key' | undefined> => {
    try {
      const { payload } = await jwtVerify(token, find, {
        issuer,
        algorithms: [...algorithms],
        requiredClaims: ['exp', 'sub'],
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        ...(audience === undefined ? {} : { audience }),
      });
      return Number.isFinite(payload.exp) ? payload : undefined; // 1e400 is a number in JSON, and for ever
    } catch (error) {
      return error instanceof errors.JWKSNoMatchingKey ? 'unknown_key' : undefined;
    }
  };
  const verifyWithFreshKeys = async (
    token: string,
  ): Promise<{ payload: JWTPayload | undefined; generation: number }> => {
    const known = await keys.current();
    const first = known && (await verify(token, known));
    const later = first === 'unknown_key' ? await keys.again() : known;
    const second =
      first === 'unknown_key' && later !== undefined && later !== known ? await verify(token, later) : first;
    return { payload: second === 'unknown_key' ? undefined : second, generation: later?.generation ?? 0 };
  };

  return async (token) => {
    if (!mayBeFrom(issuer, token)) return undefined;
    const digest = createHash('sha256').update(token).digest('base64');
    const generation = (await keys.current())?.generation ?? 0;
    const known = remembered.get(`${generation} ${digest}`);
    if (known !== undefined) return known;
    const verified = await verifyWithFreshKeys(token);
    if (verified.payload === undefined) return undefined;
    const ttl = Math.min(REMEMBER_MS, (verified.payload.exp ?? 0) * 1000 - Date.now());
    if (ttl > 0) remembered.set(`${verified.generation} ${digest}`, verified.payload, { ttl });
    return verified.payload;
  };
};

/** Cheap look before any key is fetched: a foreign token must not make us call the issuer. */
const mayBeFrom = (issuer: string, token: string): boolean => {
  if (token.length > MAX_TOKEN_CHARACTERS) return false;
  try {
    const { alg, typ } = decodeProtectedHeader(token);
    const { iss } = decodeJwt(token);
    return (
      ALGORITHMS.includes(alg ?? '') &&
      TYPES.includes(typ?.toLowerCase()) &&
      (iss === issuer || iss === `${issuer}/`)
    );
  } catch {
    return false;
  }
};
