import type { Certificate } from './certificate.js';
import { basicConstraints, extendedKeyUsage, extensionOid, keyUsage } from './certificate-extensions.js';
import { children, context, readOnly, tags } from './der.js';
import { readGeneralNames } from './general-names.js';
import { breach, nameConstraints, namesOf } from './name-constraints.js';
import { tpmKeyOf } from './tpm-key.js';

/** Rules that one certificate of a path must keep (RFC 5280, section 4.2 and 6.1). Each returns why it is broken. */
type Broken = string | undefined;

const understood = new Set<string>([
  extensionOid.basicConstraints,
  extensionOid.keyUsage,
  extensionOid.extendedKeyUsage,
  extensionOid.subjectAltName,
  extensionOid.nameConstraints,
  extensionOid.certificatePolicies,
]);
const neverCritical = [
  extensionOid.authorityKeyId,
  extensionOid.subjectKeyId,
  extensionOid.authorityInfoAccess,
];
const onlyCritical = [extensionOid.policyConstraints, extensionOid.inhibitAnyPolicy];
const maxSerialBytes = 20;
const emptyName = Buffer.from('3000', 'hex');

export const isSelfIssued = (certificate: Certificate): boolean =>
  certificate.subject.equals(certificate.issuer);

const formRules = (certificate: Certificate): Broken => {
  const { extensions, serial } = certificate;
  if (certificate.version !== 3) return 'it is not of version 3';
  if (/^(00)+$/.test(serial) || serial >= '80' || serial.length > 2 * maxSerialBytes)
    return 'its serial number';
  if (certificate.issuer.equals(emptyName)) return 'its issuer is empty';
  for (const [id, { critical }] of extensions) {
    if (critical && !understood.has(id)) return `critical extension ${id} is not understood`;
    if (!critical && (onlyCritical as readonly string[]).includes(id))
      return `extension ${id} is not critical`;
  }
  if (neverCritical.some((id) => extensions.get(id)?.critical)) return 'a key identifier is critical';
  return keyRule(certificate) ?? alternativeNameRule(certificate);
};

const keyRule = (certificate: Certificate): Broken => {
  try {
    tpmKeyOf(certificate.publicKey, 'its key');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : 'its key';
  }
};

const alternativeNameRule = (certificate: Certificate): Broken => {
  const alternative = certificate.extensions.get(extensionOid.subjectAltName);
  if (alternative !== undefined) readGeneralNames(alternative.value);
  if (!certificate.subject.equals(emptyName)) return undefined;
  return alternative?.critical === true
    ? undefined
    : 'it has neither a subject nor a critical alternative name';
};

const dateRule = (certificate: Certificate, at: Date): Broken => {
  if (at < certificate.notBefore) return 'it is not valid yet';
  return at > certificate.notAfter ? 'it has expired' : undefined;
};

const purposeRule = (certificate: Certificate, purpose: string, any: boolean): Broken => {
  const purposes = extendedKeyUsage(certificate);
  const fits = purposes === undefined || purposes.includes(purpose) || (any && purposes.includes(anyPurpose));
  return fits ? undefined : `its extended key usage lacks ${purpose}`;
};
const anyPurpose = '2.5.29.37.0';

/** The end of a path: not a CA, for `purpose`. */
export const leafRules = (certificate: Certificate, at: Date, purpose: string): Broken => {
  const constraints = basicConstraints(certificate);
  if (constraints?.ca === true) return 'it is a CA certificate';
  if (constraints?.pathLength !== undefined) return 'it has a path length and is no CA';
  if (keyUsage(certificate)?.has('keyCertSign') === true) return 'it may sign certificates and is no CA';
  if (certificate.extensions.has(extensionOid.nameConstraints)) return 'it has name constraints and is no CA';
  return (
    formRules(certificate) ??
    dateRule(certificate, at) ??
    (extendedKeyUsage(certificate) === undefined ? `it lacks the purpose ${purpose}` : undefined) ??
    purposeRule(certificate, purpose, false)
  );
};

/** A CA, trusted or in between; `below` is how many CAs that are not self-issued stand under it. */
export const caRules = (certificate: Certificate, at: Date, purpose: string, below: number): Broken => {
  const constraints = basicConstraints(certificate);
  if (constraints?.ca !== true) return 'it is not a CA certificate';
  const { extensions } = certificate;
  if (extensions.get(extensionOid.basicConstraints)?.critical !== true)
    return 'its basic constraints are not critical';
  if (constraints.pathLength !== undefined && below > constraints.pathLength)
    return 'its path length is exceeded';
  if (keyUsage(certificate)?.has('keyCertSign') !== true) return 'its key usage lacks keyCertSign';
  if (certificate.subject.equals(emptyName)) return 'its subject is empty';
  if (!extensions.has(extensionOid.subjectKeyId)) return 'it lacks a subject key identifier';
  if (extensions.get(extensionOid.nameConstraints)?.critical === false)
    return 'its name constraints are not critical';
  nameConstraints(certificate);
  return formRules(certificate) ?? dateRule(certificate, at) ?? purposeRule(certificate, purpose, true);
};

/** The key identifiers must agree; only a self-signed certificate may leave its issuer's out. */
export const linkRules = (certificate: Certificate, issuer: Certificate): Broken => {
  const authority = certificate.extensions.get(extensionOid.authorityKeyId)?.value;
  if (authority === undefined) return 'it lacks an authority key identifier';
  const keyId = children(readOnly(authority, tags.sequence)).find(({ tag }) => tag === context(0, false));
  if (keyId === undefined) return 'its authority key identifier names no key';
  const subject = issuer.extensions.get(extensionOid.subjectKeyId)?.value;
  const wanted = subject === undefined ? undefined : readOnly(subject, tags.octetString).content;
  if (wanted !== undefined && !wanted.equals(keyId.content))
    return 'its authority key identifier is another key';
  return undefined;
};

/** Name constraints of every CA over everything below it; `path` runs from leaf to root. */
export const constraintRules = (path: readonly Certificate[]): Broken => {
  for (const [index, authority] of path.entries()) {
    const constraints = nameConstraints(authority);
    if (constraints === undefined) continue;
    const below = path.slice(0, index).filter((certificate, at) => at === 0 || !isSelfIssued(certificate));
    for (const certificate of below) {
      const why = breach(constraints, namesOf(certificate));
      if (why !== undefined) return `name constraints: ${why}`;
    }
  }
  return undefined;
};
