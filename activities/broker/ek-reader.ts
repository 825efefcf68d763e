import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { normalizeFingerprint } from '../../domain/broker/fingerprint.js';
import type { EkSource } from '../../domain/broker/machine.js';
import { AppError } from '../../domain/errors.js';
import type { EkMaterial } from '../crypto/ek.js';
import { matchesFingerprint, parseEkMaterial } from '../crypto/ek.js';

const CACHED = 20_000;
const CACHE_MS = 10 * 60_000;

/** EK material as every node-facing call carries it. */
export interface PresentedEk {
  readonly ekFingerprint: string;
  /** Base64 of PEM, DER or an NV dump. */
  readonly ekCertPem: string;
  readonly ekSource: EkSource;
}

export interface ReadEk {
  readonly material: EkMaterial;
  /** Every fingerprint under which a record of this EK may be stored, canonical one first. */
  readonly fingerprints: readonly string[];
}

export type EkReader = (presented: PresentedEk) => ReadEk;

/**
 * Parses EK material and checks the claimed fingerprint against it (422). A polling node sends the same bytes every
 * minute: what was parsed is kept for ten minutes by the hash of the text.
 */
export const createEkReader = (): EkReader => {
  const cache = new LRUCache<string, ReadEk>({ max: CACHED, ttl: CACHE_MS });
  return ({ ekFingerprint, ekCertPem, ekSource }) => {
    const claimed = normalizeFingerprint(ekFingerprint);
    const key = `${ekSource}:${createHash('sha256').update(ekCertPem).digest('base64')}`;
    let read = cache.get(key);
    if (read === undefined) {
      const material = parseEkMaterial(ekCertPem, ekSource);
      read = { material, fingerprints: fingerprintsOf(material) };
      cache.set(key, read);
    }
    if (!matchesFingerprint(read.material, claimed)) throw mismatch(claimed, read.material);
    return read;
  };
};

const fingerprintsOf = (ek: EkMaterial): readonly string[] => [
  ...new Set([ek.fingerprintSha384, ek.fingerprintSha256, ek.sentSha384, ek.sentSha256]),
];

const mismatch = (claimed: string, ek: EkMaterial): AppError => {
  const computed = claimed.length === 64 ? ek.fingerprintSha256 : ek.fingerprintSha384;
  const msg = `does not match the EK material: got ${claimed.slice(0, 12)}..., computed ${computed.slice(0, 12)}...`;
  return new AppError('invalid', msg, {
    issues: [{ loc: ['body', 'ek_fingerprint'], msg, type: 'fingerprint_mismatch' }],
  });
};
