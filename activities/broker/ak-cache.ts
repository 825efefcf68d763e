import { LRUCache } from 'lru-cache';
import type { AttestationKey } from '../crypto/ak.js';
import { parseAttestationKey } from '../crypto/ak.js';

const cache = new LRUCache<string, AttestationKey>({ max: 20_000, ttl: 10 * 60_000 });

/** The stored AK, parsed; by its Name, which is a hash of all of it. */
export const loadAk = ({
  akPublic,
  akName,
}: {
  akPublic: Uint8Array;
  akName: Uint8Array;
}): AttestationKey => {
  const key = Buffer.from(akName).toString('hex');
  const known = cache.get(key);
  if (known !== undefined) return known;
  const ak = parseAttestationKey(akPublic);
  cache.set(key, ak);
  return ak;
};
