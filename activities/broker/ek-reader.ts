import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { normalizeFingerprint } from '../../domain/broker/fingerprint.js';
import type { EkSource } from '../../domain/broker/machine.js';
import { AppError } from '../../domain/errors.js';
import { decodeBase64 } from '../crypto/base64.js';
import type { EkMaterial } from '../crypto/ek.js';
import { acceptEkArea, matchesFingerprint, parseEkMaterial } from '../crypto/ek.js';
import type { TrustedRoot } from '../crypto/trust-bundle.js';

const CACHED = 20_000;
const CACHE_MS = 10 * 60_000;

/** EK material as every node-facing call carries it. */
export interface PresentedEk {
  /** What the caller says; null: nothing to compare with. */
  readonly ekFingerprint: string | null;
  /** Base64 of PEM, DER or an NV dump. */
  readonly ekCertPem: string;
  readonly ekSource: EkSource;
  /** PEM certificates between the EK's and the maker's root. */
  readonly ekChain?: string | null;
  /** Base64 of the EK's TPM2B_PUBLIC, when it is not the standard template's. */
  readonly ekPublic?: string | null;
}

export interface ReadEk {
  readonly material: EkMaterial;
  /** Every fingerprint under which a record of this EK may be stored, canonical one first. */
  readonly fingerprints: readonly string[];
  /** The root of the TPM's maker; undefined while makers are not verified. */
  readonly makerRoot: TrustedRoot | undefined;
  /** TPMT_PUBLIC as the node sent it. */
  readonly ekPublic: Buffer | null;
}

export type EkReader = (presented: PresentedEk) => Promise<ReadEk>;

/** Checks the maker of a TPM; throws when it is not trusted. */
export type VerifyMaker = (ek: EkMaterial, ekChain: string | undefined) => Promise<TrustedRoot>;

/**
 * Parses EK material and checks the claimed fingerprint against it (422). A polling node sends the same bytes every
 * minute: what was parsed is kept for ten minutes by the hash of the text.
 */
export const createEkReader = (verifyMaker?: VerifyMaker): EkReader => {
  const cache = new LRUCache<string, ReadEk>({ max: CACHED, ttl: CACHE_MS });
  return async (presented) => {
    const claimed = presented.ekFingerprint === null ? null : normalizeFingerprint(presented.ekFingerprint);
    const key = cacheKey(presented);
    let read = cache.get(key);
    if (read === undefined) {
      read = await readWhole(presented, verifyMaker);
      cache.set(key, read);
    }
    if (claimed !== null && !matchesFingerprint(read.material, claimed))
      throw mismatch(claimed, read.material);
    return read;
  };
};

const cacheKey = ({ ekCertPem, ekSource, ekChain, ekPublic }: PresentedEk): string =>
  createHash('sha256')
    .update(JSON.stringify([ekSource, ekCertPem, ekChain ?? '', ekPublic ?? '']))
    .digest('base64');

const readWhole = async (presented: PresentedEk, verifyMaker: VerifyMaker | undefined): Promise<ReadEk> => {
  const material = parseEkMaterial(presented.ekCertPem, presented.ekSource);
  const makerRoot = await verifyMaker?.(material, presented.ekChain ?? undefined);
  return {
    material,
    fingerprints: fingerprintsOf(material),
    makerRoot,
    ekPublic: areaOf(presented, material),
  };
};

/** The public area that came as `ek_public`, or as the material itself. */
const areaOf = ({ ekPublic }: PresentedEk, material: EkMaterial): Buffer | null => {
  if (ekPublic === null || ekPublic === undefined) {
    return material.isAreaSent ? Buffer.from(material.area.bytes) : null;
  }
  return Buffer.from(acceptEkArea(decodeBase64(ekPublic, 'ek_public', 2048), material.key).bytes);
};

const fingerprintsOf = (ek: EkMaterial): readonly string[] => [
  ...new Set([ek.fingerprintSha384, ek.fingerprintSha256, ek.sentSha384, ek.sentSha256, ek.spkiSha384]),
];

const mismatch = (claimed: string, ek: EkMaterial): AppError => {
  const computed = claimed.length === 64 ? ek.fingerprintSha256 : ek.fingerprintSha384;
  const msg = `does not match the EK material: got ${claimed.slice(0, 12)}..., computed ${computed.slice(0, 12)}...`;
  return new AppError('invalid', msg, {
    issues: [{ loc: ['body', 'ek_fingerprint'], msg, type: 'fingerprint_mismatch' }],
  });
};
