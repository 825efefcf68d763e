import { randomBytes } from 'node:crypto';
import type { PcrBinding } from '../../domain/broker/envelope.js';
import { alg, hashes } from '../../domain/broker/tpm/algorithms.js';
import { concat, sized, u16, u32 } from '../../domain/broker/tpm/bytes.js';
import { encodePcrSelections } from '../../domain/broker/tpm/pcr-selection.js';
import { attribute } from '../../domain/broker/tpm/public-area.js';
import { AppError } from '../../domain/errors.js';
import type { EkTarget } from './ek.js';
import { digest } from './hash.js';
import { taggedDigest } from './tpm-name.js';
import { createSeed, protect } from './tpm-protect.js';

export interface ImportObject {
  /** TPM2B_PUBLIC, TPM2B_PRIVATE (duplicate) and TPM2B_ENCRYPTED_SECRET for TPM2_Import. */
  readonly importPublic: Uint8Array;
  readonly importDuplicate: Uint8Array;
  readonly importSeed: Uint8Array;
}

/** The largest sealed data object of common TPMs. */
const maxData = 128;
const policyPcrCommand = 0x0000017f;

/** The public area of a sealed data object and its sensitive part; `seedValue` hides the data in `unique`. */
export const sealedObject = (data: Uint8Array, policy: Uint8Array, seedValue: Uint8Array) => {
  const noPolicy = policy.length === 0;
  const attributes = attribute.noDictionaryAttack | (noPolicy ? attribute.userWithAuth : 0);
  const publicArea = concat(
    u16(alg.keyedHash),
    u16(alg.sha256),
    u32(attributes),
    sized(policy),
    u16(alg.null),
    sized(digest('sha256', seedValue, data)),
  );
  const sensitive = concat(u16(alg.keyedHash), sized(new Uint8Array()), sized(seedValue), sized(data));
  return { publicArea, sensitive, name: taggedDigest('sha256', publicArea) };
};

/** PolicyPCR over SHA-256 (TPM 2.0 part 3, 23.7); what `tpm2_policypcr` computes. */
export const pcrPolicyDigest = (binding: PcrBinding): Buffer => {
  const pcrs = boundPcrs(binding);
  const values = pcrs.map((pcr) => pcrValue(binding, pcr));
  const selection = encodePcrSelections([{ bank: binding.bank, pcrs }]);
  return digest('sha256', new Uint8Array(32), u32(policyPcrCommand), selection, digest('sha256', ...values));
};

/** The bound registers, ascending. */
export const boundPcrs = (binding: PcrBinding): number[] =>
  Object.keys(binding.values)
    .map(Number)
    .sort((a, b) => a - b);

const pcrValue = (binding: PcrBinding, pcr: number): Buffer => {
  const value = Buffer.from(binding.values[String(pcr)] ?? '', 'hex');
  if (value.length !== hashes[binding.bank].size || pcr > 23) {
    throw new AppError('invalid', `PCR ${pcr} has no ${binding.bank} value`);
  }
  return value;
};

/** A sealed data object duplicated to the EK; with `binding` it unseals only while those PCR values hold. */
export const makeImportObject = async (
  ek: EkTarget,
  data: Uint8Array,
  binding?: PcrBinding,
): Promise<ImportObject> => {
  if (data.length > maxData) throw new RangeError(`a sealed object holds at most ${maxData} bytes`);
  const policy = binding === undefined ? new Uint8Array() : pcrPolicyDigest(binding);
  const object = sealedObject(data, policy, randomBytes(32));
  const { seed, encryptedSecret } = await createSeed(ek, 'DUPLICATE');
  return {
    importPublic: sized(object.publicArea),
    importDuplicate: sized(protect(ek.area, seed, object.name, sized(object.sensitive))),
    importSeed: encryptedSecret,
  };
};
