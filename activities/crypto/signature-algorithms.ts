import type { KeyObject } from 'node:crypto';

/** Signature algorithms in certificates: SHA-1, MD5, DSA and PSS with free parameters are not among them. */
const signatureHashes = new Map([
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
]);
const ecdsaArc = '1.2.840.10045.';

/** The hash of a signature algorithm; undefined when it is not accepted or does not fit the key. */
export const signatureHash = (id: string, key: KeyObject): string | undefined =>
  id.startsWith(ecdsaArc) === (key.asymmetricKeyType === 'ec') ? signatureHashes.get(id) : undefined;

/** What our own CA signs with: ECDSA with SHA-384, or PKCS#1 v1.5 with SHA-384 for an RSA CA. */
export const ownSignature = (
  key: KeyObject,
): { readonly oid: string; readonly hash: string; readonly isRsa: boolean } => {
  const isRsa = key.asymmetricKeyType === 'rsa';
  return { oid: isRsa ? '1.2.840.113549.1.1.12' : '1.2.840.10045.4.3.3', hash: 'sha384', isRsa };
};
