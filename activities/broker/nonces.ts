import { createHash, randomBytes } from 'node:crypto';
import { NONCE_BYTES, looksTpmGenerated } from '../../domain/broker/nonce.js';
import type { IssuedNonce } from '../../domain/broker/nonce.js';

/**
 * Redeem is delete-then-judge: the nonce is spent by the first attempt that names it, so of any number of
 * concurrent attempts exactly one gets the bytes, whatever becomes of that attempt afterwards.
 */
export interface NonceStore {
  /** `source` is the limited source of the request, undefined for a trusted proxy's own. Throws `throttled`. */
  issue(source: string | undefined): Promise<IssuedNonce>;
  /** The bytes, once. Throws `conflict` (used), `gone` (expired) or `invalid` (unknown). */
  redeem(nonceId: string): Promise<Buffer>;
  /** Nonces that could be redeemed now. */
  outstanding(): Promise<number>;
}

/** A source's nonces lapse one by one, spread over the lifetime: it need not wait for all of it. */
export const SOURCE_RETRY_SECONDS = 10;

/** 32 random bytes that a TPM could not have made up itself. */
export const drawNonce = (random: (size: number) => Buffer = randomBytes): Buffer => {
  for (;;) {
    const nonce = random(NONCE_BYTES);
    if (!looksTpmGenerated(nonce)) return nonce;
  }
};

/** A nonce's id follows from its value, so a caller that was only given the value can redeem it too. */
export const nonceIdOf = (nonce: Uint8Array): string =>
  createHash('sha256').update('svc/nonce-id/v1\0').update(nonce).digest('hex').slice(0, 32);
