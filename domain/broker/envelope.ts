import type { TpmHash } from './tpm/algorithms.js';
import type { PublicArea } from './tpm/public-area.js';
import { attribute, hasAll } from './tpm/public-area.js';

/**
 * Encrypted delivery. A standard EK is a *restricted* key: TPM2_RSA_Decrypt refuses it, so `ek-aes256gcm-v1` opens in a
 * TPM only for an unrestricted key; the other two use what every EK can do (Import, ActivateCredential).
 */
export const envelopeFormats = [
  'ek-aes256gcm-v1',
  'ek-import-aes256gcm-v1',
  'ek-credential-aes256gcm-v1',
] as const;
export type EnvelopeFormat = (typeof envelopeFormats)[number];

export const isEnvelopeFormat = (text: string): text is EnvelopeFormat =>
  (envelopeFormats as readonly string[]).includes(text);

interface Opener {
  readonly area: PublicArea;
}

/** The formats that this EK can open, the default first; a credential also needs an activated AK. */
export const possibleFormats = (ek: Opener, akActivated: boolean): EnvelopeFormat[] => {
  const isRsa = ek.area.key.kind === 'rsa';
  const isStorageKey =
    ek.area.symmetricBits !== null && hasAll(ek.area.attributes, attribute.restricted | attribute.decrypt);
  return envelopeFormats.filter((format) => {
    if (format === 'ek-aes256gcm-v1') return isRsa;
    return isStorageKey && (format === 'ek-import-aes256gcm-v1' || akActivated);
  });
};

/** PCR values that an imported key is bound to; `values` are hex by PCR number. */
export interface PcrBinding {
  readonly bank: TpmHash;
  readonly values: Readonly<Record<string, string>>;
}

interface EnvelopeCommon {
  readonly machineId: string;
  readonly iv: Uint8Array;
  /** AES-256-GCM ciphertext followed by the 16-byte tag. */
  readonly ciphertext: Uint8Array;
}
export type Envelope = EnvelopeCommon &
  (
    | { readonly format: 'ek-aes256gcm-v1'; readonly wrappedKey: Uint8Array }
    | {
        readonly format: 'ek-import-aes256gcm-v1';
        readonly importPublic: Uint8Array;
        readonly importDuplicate: Uint8Array;
        readonly importSeed: Uint8Array;
        /** As `tpm2_unseal -p pcr:` takes it, e.g. `sha256:7,11`. */
        readonly pcrSelection?: string;
      }
    | {
        readonly format: 'ek-credential-aes256gcm-v1';
        readonly credentialBlob: Uint8Array;
        readonly encryptedSecret: Uint8Array;
        readonly akName: Uint8Array;
      }
  );
