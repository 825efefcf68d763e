import { constants, verify as nodeVerify } from 'node:crypto';
import type { KeyLike, VerifyKeyObjectInput, VerifyPublicKeyInput } from 'node:crypto';
import { promisify } from 'node:util';
import { curves, hashes } from '../../domain/broker/tpm/algorithms.js';
import type { TpmHash } from '../../domain/broker/tpm/algorithms.js';
import { padLeft } from '../../domain/broker/tpm/bytes.js';
import type { TpmSignature } from '../../domain/broker/tpm/signature.js';
import type { AttestationKey } from './ak.js';

/** Runs on the thread pool: a P-384 verify holds a core for 0.6 ms and must not hold the event loop. */
export const verifyAsync = promisify(
  (
    algorithm: string | null,
    data: Uint8Array,
    key: KeyLike | VerifyKeyObjectInput | VerifyPublicKeyInput,
    signature: Uint8Array,
    done: (error: Error | null, valid?: boolean) => void,
  ) => {
    nodeVerify(algorithm, data, key, signature, done);
  },
);

/** Whether `signature` over `data` is the AK's, with exactly the scheme and hash of its public area. */
export const verifyByAk = async (
  ak: AttestationKey,
  data: Uint8Array,
  signature: TpmSignature,
): Promise<boolean> => {
  if (signature.scheme !== ak.scheme.alg || signature.hash !== ak.scheme.hash) return false;
  if (signature.scheme === 'ecdsa') return verifyEcdsa(ak, data, signature.r, signature.s);
  if (ak.area.key.kind !== 'rsa' || signature.signature.length !== ak.area.key.modulus.length) return false;
  if (signature.scheme === 'rsassa') return verifyRsassa(ak, data, signature.signature);
  return verifyRsapss(ak, data, signature.signature);
};

const verifyEcdsa = async (
  ak: AttestationKey,
  data: Uint8Array,
  r: Uint8Array,
  s: Uint8Array,
): Promise<boolean> => {
  if (ak.area.key.kind !== 'ecc') return false;
  const { size } = curves[ak.area.key.curve];
  const [left, right] = [padLeft(r, size), padLeft(s, size)];
  if (left === undefined || right === undefined) return false;
  const key = { key: ak.publicKey, dsaEncoding: 'ieee-p1363' as const };
  return (await verifyAsync(ak.scheme.hash, data, key, Buffer.concat([left, right]))) === true;
};

const verifyRsassa = async (
  ak: AttestationKey,
  data: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> => {
  const key = { key: ak.publicKey, padding: constants.RSA_PKCS1_PADDING };
  return (await verifyAsync(ak.scheme.hash, data, key, signature)) === true;
};

/** Salts that TPMs use: as long as the digest (FIPS 186), or the longest that fits (TPM 2.0 part 1, B.7). */
const pssSalts = (hash: TpmHash, modulusBytes: number): number[] => {
  const digestBytes = hashes[hash].size;
  return [digestBytes, modulusBytes - digestBytes - 2];
};

const verifyRsapss = async (
  ak: AttestationKey,
  data: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> => {
  for (const saltLength of pssSalts(ak.scheme.hash, signature.length)) {
    const key = { key: ak.publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength };
    if ((await verifyAsync(ak.scheme.hash, data, key, signature)) === true) return true;
  }
  return false;
};
