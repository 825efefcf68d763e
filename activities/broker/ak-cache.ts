import type { Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import { findAk } from '../../db/broker/attestation-keys.js';
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

/** The machine's activated AK; undefined until there is one. */
export const createAttestationKeyOf =
  (db: Knex) =>
  async (machineId: string): Promise<AttestationKey | undefined> => {
    const stored = await findAk(db, machineId);
    return stored === undefined ? undefined : loadAk(stored);
  };
