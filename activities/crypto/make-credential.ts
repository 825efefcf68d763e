import { sized } from '../../domain/broker/tpm/bytes.js';
import type { EkTarget } from './ek.js';
import { createSeed, protect } from './tpm-protect.js';

export interface Credential {
  /** TPM2B_ID_OBJECT. */
  readonly credentialBlob: Uint8Array;
  /** TPM2B_ENCRYPTED_SECRET. */
  readonly encryptedSecret: Uint8Array;
}

/**
 * TPM2_MakeCredential in software (TPM 2.0 part 1, 24): `secret` comes out of TPM2_ActivateCredential only in the TPM
 * that holds this EK *and* has the object named `objectName` loaded. `secret` is at most as long as the EK's name hash.
 */
export const makeCredential = async (
  ek: EkTarget,
  objectName: Uint8Array,
  secret: Uint8Array,
): Promise<Credential> => {
  const { seed, encryptedSecret } = await createSeed(ek, 'IDENTITY');
  return { credentialBlob: sized(protect(ek.area, seed, objectName, sized(secret))), encryptedSecret };
};
