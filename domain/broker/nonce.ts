import { AppError, invalidField } from '../errors.js';

/** A server-issued anti-replay value: 32 random bytes, single use, 60 s. */
export const NONCE_BYTES = 32;
export const NONCE_LIFETIME_MS = 60_000;
/** How long after its lifetime a nonce is still known, so that `expired` differs from `unknown`. */
export const NONCE_MEMORY_MS = 60_000;

/** TPM_GENERATED_VALUE (TPM 2.0 Part 2, 6.2): what the TPM itself attests begins so, hence no nonce may. */
const TPM_GENERATED = [0xff, 0x54, 0x43, 0x47];

export const looksTpmGenerated = (bytes: Uint8Array): boolean =>
  TPM_GENERATED.every((byte, index) => bytes[index] === byte);

/** Nonces that one source may hold of a store with room for `capacity`. */
export const shareOfOneSource = (capacity: number): number => Math.max(1, Math.floor(capacity / 10));

export interface IssuedNonce {
  /** 32 lower-case hex. */
  readonly nonceId: string;
  readonly nonce: Buffer;
  readonly expiresAt: Date;
}

export type NonceRefusal = 'used' | 'expired' | 'unknown';

export const refusedNonce = (why: NonceRefusal): AppError => {
  switch (why) {
    case 'used':
      return new AppError('conflict', 'this nonce was already used', { code: 'nonce_used' });
    case 'expired':
      return new AppError('gone', 'this nonce has expired; ask for a new challenge', {
        code: 'nonce_expired',
      });
    case 'unknown':
      return invalidField('nonce_id', 'no such nonce was issued', 'nonce_unknown');
  }
};

export const tooManyNonces = (whose: 'source' | 'all', retryAfterSeconds: number): AppError =>
  new AppError(
    'throttled',
    whose === 'source'
      ? 'too many challenges of this address are outstanding'
      : 'too many challenges are outstanding',
    { code: 'nonces_exhausted', retryAfterSeconds },
  );
