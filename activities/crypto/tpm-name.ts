import type { TpmHash } from '../../domain/broker/tpm/algorithms.js';
import { hashes } from '../../domain/broker/tpm/algorithms.js';
import { u16, u32 } from '../../domain/broker/tpm/bytes.js';
import type { PublicArea } from '../../domain/broker/tpm/public-area.js';
import { digest } from './hash.js';

const endorsementHierarchy = 0x4000000b;

/** A digest that carries its algorithm, as names do. */
export const taggedDigest = (hash: TpmHash, ...parts: readonly Uint8Array[]): Buffer =>
  Buffer.concat([u16(hashes[hash].id), digest(hash, ...parts)]);

/** The Name of an object: nameAlg || H(TPMT_PUBLIC) (TPM 2.0 part 1, 16). */
export const tpmName = (area: Pick<PublicArea, 'nameAlg' | 'bytes'>): Buffer =>
  taggedDigest(area.nameAlg, area.bytes);

/** The qualified name of a key created right under this EK. */
export const qualifiedNameUnderEk = (key: PublicArea, ek: PublicArea): Buffer => {
  const ekQualified = taggedDigest(ek.nameAlg, u32(endorsementHierarchy), tpmName(ek));
  return taggedDigest(key.nameAlg, ekQualified, tpmName(key));
};
