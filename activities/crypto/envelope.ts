import { constants, publicEncrypt, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Envelope, EnvelopeFormat, PcrBinding } from '../../domain/broker/envelope.js';
import { possibleFormats } from '../../domain/broker/envelope.js';
import { AppError } from '../../domain/errors.js';
import { keyBytes, seal } from './aead.js';
import type { EkTarget } from './ek.js';
import { boundPcrs, makeImportObject } from './import-object.js';
import { makeCredential } from './make-credential.js';

export interface SealInput {
  readonly format: EnvelopeFormat;
  readonly machineId: string;
  readonly ek: EkTarget;
  /** The activated AK's Name; needed for the credential format. */
  readonly akName?: Uint8Array | undefined;
  /** Binds an imported key to PCR values. */
  readonly pcrBinding?: PcrBinding | undefined;
  readonly plaintext: Uint8Array;
}

/**
 * Seals `plaintext` for the TPM that holds the EK; key and IV are fresh for every call. Throws `not_acceptable` naming
 * the possible formats when the EK cannot open this one.
 */
export const sealEnvelope = async (input: SealInput): Promise<Envelope> => {
  const possible = possibleFormats(input.ek, input.akName !== undefined);
  if (!possible.includes(input.format)) throw formatImpossible(input.format, possible);
  const key = randomBytes(keyBytes);
  const body = encrypt(input, key);
  if (input.format === 'ek-aes256gcm-v1') {
    return { format: input.format, ...body, wrappedKey: wrapByOaep(input.ek.publicKey, key) };
  }
  if (input.format === 'ek-import-aes256gcm-v1') {
    const object = await makeImportObject(input.ek, key, input.pcrBinding);
    return { format: input.format, ...body, ...object, ...pcrSelection(input.pcrBinding) };
  }
  const akName = input.akName ?? new Uint8Array();
  return { format: input.format, ...body, ...(await makeCredential(input.ek, akName, key)), akName };
};

export const formatImpossible = (asked: string, possible: readonly EnvelopeFormat[]): AppError =>
  new AppError(
    'not_acceptable',
    possible.length === 0
      ? 'this machine has no key that an envelope could be sealed to'
      : `envelope format ${asked} is not possible for this machine; possible: ${possible.join(', ')}`,
    { code: 'envelope_format' },
  );

/** The first format binds nothing beside the text, as specified; the others bind format and machine. */
const encrypt = (input: SealInput, key: Uint8Array) => {
  const bound = input.format === 'ek-aes256gcm-v1' ? '' : `${input.format}\n${input.machineId}`;
  const sealed = seal(key, input.plaintext, Buffer.from(bound, 'utf8'));
  return {
    machineId: input.machineId,
    iv: sealed.nonce,
    ciphertext: Buffer.concat([sealed.ciphertext, sealed.tag]),
  };
};

/** RSA-OAEP, hash and MGF1 SHA-256, empty label (RFC 8017, 7.1). */
export const wrapByOaep = (key: KeyObject, secret: Uint8Array): Buffer =>
  publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, secret);

const pcrSelection = (binding: PcrBinding | undefined): { pcrSelection?: string } =>
  binding === undefined ? {} : { pcrSelection: `${binding.bank}:${boundPcrs(binding).join(',')}` };
