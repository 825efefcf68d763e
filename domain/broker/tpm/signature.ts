import type { TpmHash } from './algorithms.js';
import { hashOf, signingSchemeOf } from './algorithms.js';
import { TpmReader } from './bytes.js';

/** TPMT_SIGNATURE (TPM 2.0 part 2, 11.3.4). `r` and `s` are unsigned and may be shorter than the field. */
export type TpmSignature =
  | { readonly scheme: 'rsassa' | 'rsapss'; readonly hash: TpmHash; readonly signature: Uint8Array }
  | { readonly scheme: 'ecdsa'; readonly hash: TpmHash; readonly r: Uint8Array; readonly s: Uint8Array };

const maxRsa = 512;
const maxComponent = 66;

/** Parses a TPMT_SIGNATURE strictly; throws `invalid` on an unknown scheme, SHA-1, short or trailing bytes. */
export const parseSignature = (bytes: Uint8Array, what = 'signature'): TpmSignature => {
  const reader = new TpmReader(bytes, what);
  const schemeId = reader.u16();
  const scheme = signingSchemeOf(schemeId);
  if (scheme === undefined) throw reader.error(`scheme 0x${schemeId.toString(16)} is not accepted`);
  const hashId = reader.u16();
  const hash = hashOf(hashId);
  if (hash === undefined) throw reader.error(`hash 0x${hashId.toString(16)} is not accepted`);
  const parsed: TpmSignature =
    scheme === 'ecdsa'
      ? { scheme, hash, r: reader.sized(maxComponent), s: reader.sized(maxComponent) }
      : { scheme, hash, signature: reader.sized(maxRsa) };
  reader.end();
  return parsed;
};
