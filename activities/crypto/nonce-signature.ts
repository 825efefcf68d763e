import { curves } from '../../domain/broker/tpm/algorithms.js';
import type { TpmSignature } from '../../domain/broker/tpm/signature.js';
import { parseSignature } from '../../domain/broker/tpm/signature.js';
import { AppError } from '../../domain/errors.js';
import type { AttestationKey } from './ak.js';
import { integerContent, readSequence } from './der.js';
import { verifyByAk } from './verify.js';

/** r and s of a DER ECDSA-Sig-Value: minimal, not negative, nothing behind it (RFC 3279, 2.2.3). */
export const readEcdsaDer = (der: Buffer): { readonly r: Buffer; readonly s: Buffer } => {
  const [r, s, ...rest] = readSequence(der).map(integerContent);
  const negative = [r, s].some((value) => ((value?.[0] ?? 0) & 0x80) !== 0);
  if (r === undefined || s === undefined || rest.length > 0 || negative) {
    throw new AppError('invalid', 'ECDSA signature is not two positive integers');
  }
  return { r, s };
};

/** What the bytes can be: TPMT_SIGNATURE, DER, bare RSA, or r||s of the curve's size. */
const readings = (ak: AttestationKey, bytes: Buffer): TpmSignature[] => {
  const { hash, alg } = ak.scheme;
  const attempts: (() => TpmSignature)[] = [() => parseSignature(bytes)];
  if (alg !== 'ecdsa') attempts.push(() => ({ scheme: alg, hash, signature: bytes }));
  else attempts.push(() => ({ scheme: alg, hash, ...readEcdsaDer(bytes) }));
  const size = ak.area.key.kind === 'ecc' ? curves[ak.area.key.curve].size : 0;
  if (alg === 'ecdsa' && bytes.length === 2 * size) {
    attempts.push(() => ({ scheme: alg, hash, r: bytes.subarray(0, size), s: bytes.subarray(size) }));
  }
  return attempts.flatMap((attempt) => {
    try {
      return [attempt()];
    } catch (error) {
      if (error instanceof AppError) return [];
      throw error;
    }
  });
};

/** Whether `signature` is the AK's over the bytes of `nonce`, in any of the forms that TPM tools write. */
export const verifyNonceSignature = async (
  ak: AttestationKey,
  nonce: Uint8Array,
  signature: Buffer,
): Promise<boolean> => {
  for (const reading of readings(ak, signature)) {
    if (await verifyByAk(ak, nonce, reading)) return true;
  }
  return false;
};
