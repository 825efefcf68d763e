import { createHmac } from 'node:crypto';
import type { TpmHash } from '../../domain/broker/tpm/algorithms.js';
import { hashes } from '../../domain/broker/tpm/algorithms.js';
import { u32 } from '../../domain/broker/tpm/bytes.js';
import { digest } from './hash.js';

/** A label as the TPM hashes it: with its trailing NUL. */
export const label = (text: string): Buffer => Buffer.from(`${text}\0`, 'ascii');

const blocks = (hash: TpmHash, bits: number, block: (counter: Uint8Array) => Buffer): Buffer => {
  const count = Math.ceil(bits / (8 * hashes[hash].size));
  const parts = Array.from({ length: count }, (_, index) => block(u32(index + 1)));
  return Buffer.concat(parts).subarray(0, bits / 8);
};

export interface KdfaInput {
  readonly hash: TpmHash;
  readonly key: Uint8Array;
  readonly label: string;
  readonly contextU: Uint8Array;
  readonly contextV: Uint8Array;
  readonly bits: number;
}

/** KDFa (TPM 2.0 part 1, 11.4.10.2): HMAC in counter mode. */
export const kdfa = (input: KdfaInput): Buffer =>
  blocks(input.hash, input.bits, (counter) =>
    createHmac(input.hash, input.key)
      .update(counter)
      .update(label(input.label))
      .update(input.contextU)
      .update(input.contextV)
      .update(u32(input.bits))
      .digest(),
  );

export interface KdfeInput {
  readonly hash: TpmHash;
  /** x-coordinate of the shared point, padded to the curve. */
  readonly z: Uint8Array;
  readonly label: string;
  readonly partyU: Uint8Array;
  readonly partyV: Uint8Array;
  readonly bits: number;
}

/** KDFe (TPM 2.0 part 1, 11.4.10.3): the concatenation function of SP 800-56A. */
export const kdfe = (input: KdfeInput): Buffer =>
  blocks(input.hash, input.bits, (counter) =>
    digest(input.hash, counter, input.z, label(input.label), input.partyU, input.partyV),
  );
