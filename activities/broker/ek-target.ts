import type { Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import { findEkMaterial } from '../../db/broker/machines.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import { AppError } from '../../domain/errors.js';
import type { EkTarget } from '../crypto/ek.js';
import { loadStoredEk } from '../crypto/ek.js';
import { hexDigest } from '../crypto/hash.js';

export interface StoredEkTarget {
  readonly target: EkTarget;
  readonly fingerprintSha256: string;
}

/** Parsed keys of machines that keep coming back; the material of a fingerprint never changes. */
const cache = new LRUCache<string, StoredEkTarget>({ max: 20_000, ttl: 10 * 60_000 });

/** The EK that something can be sealed to; undefined when the record holds no material. */
export const findEkTarget = async (
  db: Knex,
  { machineId, ekFingerprint }: Pick<MachineRecord, 'machineId' | 'ekFingerprint'>,
): Promise<StoredEkTarget | undefined> => {
  const key = `${machineId}:${ekFingerprint}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const stored = await findEkMaterial(db, machineId);
  if (stored === undefined) return undefined;
  const target = loadStoredEk(stored.ekCertPem, stored.ekSource, stored.ekPublic ?? undefined);
  const fingerprintSha256 = hexDigest('sha256', Buffer.from(stored.ekCertPem, 'base64'));
  cache.set(key, { target, fingerprintSha256 });
  return { target, fingerprintSha256 };
};

export const requireEkTarget = async (db: Knex, machine: MachineRecord): Promise<StoredEkTarget> => {
  const found = await findEkTarget(db, machine);
  if (found !== undefined) return found;
  throw new AppError('invalid', 'this machine has no stored EK material; attest first', {
    code: 'ek_missing',
  });
};
