import type { Certificate } from './certificate.js';
import {
  children,
  derError,
  expectTag,
  integerContent,
  oidText,
  readBoolean,
  readOnly,
  readSequence,
  tags,
} from './der.js';

export const extensionOid = {
  subjectDirectoryAttributes: '2.5.29.9',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  crlDistributionPoints: '2.5.29.31',
  certificatePolicies: '2.5.29.32',
  policyMappings: '2.5.29.33',
  authorityKeyId: '2.5.29.35',
  policyConstraints: '2.5.29.36',
  extendedKeyUsage: '2.5.29.37',
  inhibitAnyPolicy: '2.5.29.54',
  authorityInfoAccess: '1.3.6.1.5.5.7.1.1',
} as const;

const usageNames = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const;
export type KeyUsageName = (typeof usageNames)[number];

/** The bits of KeyUsage; undefined when the extension is absent. */
export const keyUsage = (certificate: Certificate): ReadonlySet<KeyUsageName> | undefined => {
  const value = certificate.extensions.get(extensionOid.keyUsage)?.value;
  if (value === undefined) return undefined;
  const [unused = 0, ...bytes] = readOnly(value, tags.bitString).content;
  if (bytes.length === 0 || unused > 7) throw derError('key usage');
  return new Set(usageNames.filter((_, bit) => ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0));
};

/** The purposes of ExtendedKeyUsage as dotted identifiers; undefined when absent. */
export const extendedKeyUsage = (certificate: Certificate): readonly string[] | undefined => {
  const value = certificate.extensions.get(extensionOid.extendedKeyUsage)?.value;
  if (value === undefined) return undefined;
  const purposes = readSequence(value).map((purpose) => oidText(expectTag(purpose, tags.oid).content));
  if (purposes.length === 0) throw derError('extended key usage');
  return purposes;
};

export interface BasicConstraints {
  readonly ca: boolean;
  /** How many intermediate certificates may follow; undefined means any number. */
  readonly pathLength: number | undefined;
}

/** BasicConstraints; undefined when absent. */
export const basicConstraints = (certificate: Certificate): BasicConstraints | undefined => {
  const value = certificate.extensions.get(extensionOid.basicConstraints)?.value;
  if (value === undefined) return undefined;
  const parts = children(readOnly(value, tags.sequence));
  const [first] = parts;
  const flagged = first?.tag === tags.boolean;
  const ca = flagged && readBoolean(first);
  const length = flagged ? parts[1] : first;
  if (parts.length > (flagged ? 2 : 1)) throw derError('basic constraints');
  if (length === undefined) return { ca, pathLength: undefined };
  const content = integerContent(length);
  if (content.length !== 1 || (content[0] ?? 0) > 0x7f) throw derError('path length');
  return { ca, pathLength: content[0] };
};
