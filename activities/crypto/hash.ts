import { createHash, timingSafeEqual } from 'node:crypto';
import type { TpmHash } from '../../domain/broker/tpm/algorithms.js';

export const digest = (hash: TpmHash, ...parts: readonly Uint8Array[]): Buffer => {
  const state = createHash(hash);
  for (const part of parts) state.update(part);
  return state.digest();
};

export const hexDigest = (hash: TpmHash, bytes: Uint8Array): string => digest(hash, bytes).toString('hex');

/** Compares in a time that depends on the length of `expected` only. */
export const constantTimeEqual = (given: Uint8Array, expected: Uint8Array): boolean =>
  given.length === expected.length && timingSafeEqual(given, expected);
