import { AppError } from '../../errors.js';
import type { SigningScheme, TpmHash } from './algorithms.js';
import { sameBytes } from './bytes.js';
import type { PublicArea, TpmKey } from './public-area.js';
import { attribute, encodePublicArea, hasAll, hasNone } from './public-area.js';

/** Which public areas may serve as endorsement, attestation or wrapping key. */

const refused = (what: string, why: string, code: string): AppError =>
  new AppError('invalid', `${what} is not acceptable: ${why}`, { code });

const bornInTpm = attribute.fixedTpm | attribute.fixedParent | attribute.sensitiveDataOrigin;
const minRsaBits = 2048;

/** The signature that an attestation key makes. */
export interface AkScheme {
  readonly alg: SigningScheme;
  readonly hash: TpmHash;
}

/**
 * An attestation key must be a *restricted* signing key that never leaves its TPM: an unrestricted one signs any
 * bytes, forged quotes included. Returns its scheme; throws `invalid` naming the rule.
 */
export const requireAttestationKey = (area: PublicArea): AkScheme => {
  const reject = (why: string) => refused('attestation key', why, 'ak_not_acceptable');
  if (!hasAll(area.attributes, bornInTpm)) {
    throw reject('fixedTPM, fixedParent and sensitiveDataOrigin must be set');
  }
  if (!hasAll(area.attributes, attribute.restricted | attribute.sign)) {
    throw reject('it must be a restricted signing key');
  }
  if (!hasNone(area.attributes, attribute.decrypt)) throw reject('it must not decrypt');
  if (area.symmetricBits !== null) throw reject('a signing key has no symmetric algorithm');
  if (area.key.kind === 'rsa' && area.key.bits < minRsaBits) throw reject('RSA keys need 2048 bits or more');
  const scheme = area.scheme;
  if (scheme === null || scheme.hash === null) throw reject('it has no signing scheme');
  const fits = area.key.kind === 'ecc' ? scheme.alg === 'ecdsa' : isRsaSigning(scheme.alg);
  if (!fits) throw reject('its scheme must be RSASSA, RSAPSS or ECDSA, as its key type allows');
  return { alg: scheme.alg as SigningScheme, hash: scheme.hash };
};

const isRsaSigning = (scheme: string): boolean => scheme === 'rsassa' || scheme === 'rsapss';

/** A key that may receive an enrollment key: an unrestricted RSA decrypt key of the TPM, certified by the AK. */
export const requireWrappingKey = (area: PublicArea): void => {
  const reject = (why: string) => refused('wrapping key', why, 'wrapping_key_not_acceptable');
  if (area.key.kind !== 'rsa' || area.key.bits < minRsaBits)
    throw reject('it must be RSA of 2048 bits or more');
  if (!hasAll(area.attributes, bornInTpm | attribute.decrypt)) {
    throw reject('fixedTPM, fixedParent, sensitiveDataOrigin and decrypt must be set');
  }
  if (!hasNone(area.attributes, attribute.restricted | attribute.sign)) {
    throw reject('restricted and sign must be clear');
  }
  const schemeFits = area.scheme === null || (area.scheme.alg === 'oaep' && area.scheme.hash === 'sha256');
  if (!schemeFits) throw reject('its scheme must be null or OAEP with SHA-256');
};

const hex = (text: string): Uint8Array =>
  Uint8Array.from({ length: text.length / 2 }, (_, at) =>
    Number.parseInt(text.slice(at * 2, at * 2 + 2), 16),
  );

/** Policies A and B of the TCG EK credential profile: PolicySecret on the endorsement hierarchy. */
const policyA = hex('837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa');
const policyB = hex(
  'b26e7d28d11a50bc53d882bcf5fd3a1a074148bb35d3b4e4cb1c0ad9bde419cacb47ba09699646150f9fc000f3f80e12',
);
const lowRange = {
  nameAlg: 'sha256',
  attributes: 0x000300b2,
  authPolicy: policyA,
  symmetricBits: 128,
} as const;
const highRange = {
  nameAlg: 'sha384',
  attributes: 0x000300f2,
  authPolicy: policyB,
  symmetricBits: 256,
} as const;

/**
 * The public area of a standard EK, rebuilt from its key (TCG EK credential profile 2.5, B.3 and B.4): low range for
 * RSA-2048 and P-256, high range for the others. A wrong guess is harmless: the blob does not open.
 */
export const ekTemplate = (key: TpmKey): PublicArea => {
  const low = key.kind === 'rsa' ? key.bits === 2048 : key.curve === 'P-256';
  return encodePublicArea({ ...(low ? lowRange : highRange), scheme: null, key });
};

/** Accepts the EK public area that a client sends beside its certificate; throws `invalid` when it is not that EK's. */
export const requireEndorsementArea = (area: PublicArea, key: TpmKey): void => {
  const reject = (why: string) => refused('EK public area', why, 'ek_public_mismatch');
  if (!sameKey(area.key, key)) throw reject('its key is not that of the EK material');
  if (!hasAll(area.attributes, bornInTpm | attribute.restricted | attribute.decrypt)) {
    throw reject('it must be a restricted decryption key that never leaves its TPM');
  }
  if (!hasNone(area.attributes, attribute.sign)) throw reject('it must not sign');
  if (area.symmetricBits === null) throw reject('a storage key needs a symmetric algorithm');
};

export const sameKey = (a: TpmKey, b: TpmKey): boolean => {
  if (a.kind === 'rsa')
    return b.kind === 'rsa' && a.exponent === b.exponent && sameBytes(a.modulus, b.modulus);
  return b.kind === 'ecc' && a.curve === b.curve && sameBytes(a.x, b.x) && sameBytes(a.y, b.y);
};
