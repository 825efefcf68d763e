import { createHash, randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import type { SealedToken } from '../../db/broker/config-tokens.js';
import { findToken } from '../../db/broker/config-tokens.js';
import { AppError } from '../../domain/errors.js';
import type { KeyRing } from '../crypto/key-ring.js';

const TOKEN_BYTES = 32;
const scope = { purpose: 'svc/config-token/v1' };

export interface MintedToken {
  /** 43 characters of base64url. */
  readonly token: string;
  readonly sealed: SealedToken;
}

export interface ConfigTokens {
  readonly mint: (machineId: string) => MintedToken;
  /** The token's text, or undefined when it is unknown or its key is lost. */
  readonly read: (db: Knex, machineId: string, sha256: string) => Promise<string | undefined>;
  readonly url: (token: string) => string;
}

export const tokenHash = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Tokens that fetch a node's config: 32 random bytes, sealed under the service key and bound to their machine. */
export const createConfigTokens = (keyRing: KeyRing, serviceUrl: string): ConfigTokens => ({
  mint: (machineId) => {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    const sealed = keyRing.seal(scope, machineId, Buffer.from(token));
    return { token, sealed: { sha256: tokenHash(token), ...sealed } };
  },
  read: async (db, machineId, sha256) => {
    const stored = await findToken(db, sha256);
    if (stored === undefined) return undefined;
    try {
      return keyRing.open(scope, machineId, stored).toString();
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  },
  url: (token) => `${serviceUrl}/api/v1/config/${token}`,
});
