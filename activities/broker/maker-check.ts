import { LRUCache } from 'lru-cache';
import type { Clock } from '../../domain/clock.js';
import type { Logger } from '../../domain/logger.js';
import { AppError } from '../../domain/errors.js';
import type { TrustBundle } from '../crypto/trust-bundle.js';
import { loadTrustBundle, verifyEkChain } from '../crypto/trust-bundle.js';
import type { VerifyMaker } from './ek-reader.js';

const bundleLifeMs = 60_000;

/** Verifies TPM makers against a folder that is read again every minute, so that a new root needs no restart. */
export const createMakerCheck = (dir: string, clock: Clock, log: Logger): VerifyMaker => {
  const cache = new LRUCache<string, Promise<TrustBundle>>({ max: 1, ttl: bundleLifeMs });
  const read = async (): Promise<TrustBundle> => {
    const bundle = await loadTrustBundle(dir);
    for (const problem of bundle.problems) log.warn({ dir, problem }, 'TPM maker certificate not usable');
    return bundle;
  };
  const bundleNow = (): Promise<TrustBundle> => {
    const known = cache.get(dir);
    if (known !== undefined) return known;
    const fresh = read();
    cache.set(dir, fresh);
    fresh.catch(() => cache.delete(dir));
    return fresh;
  };
  return async (ek, ekChain) => verifyEkChain(ek, ekChain, await available(bundleNow()), clock.now());
};

const available = async (bundle: Promise<TrustBundle>): Promise<TrustBundle> => {
  try {
    return await bundle;
  } catch (cause) {
    throw new AppError('unavailable', 'the certificates of TPM makers cannot be read', { cause });
  }
};
