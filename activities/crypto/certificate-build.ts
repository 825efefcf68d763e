import { createHash, randomBytes, sign as nodeSign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { context, readSequence, wholeBits } from './der.js';
import type { KeyUsageName } from './certificate-extensions.js';
import { extensionOid } from './certificate-extensions.js';
import {
  bits,
  boolean,
  element,
  octets,
  oid,
  sequence,
  set,
  smallInteger,
  time,
  unsigned,
  utf8,
} from './der-write.js';
import { ownSignature } from './signature-algorithms.js';

/**
 * Certificates and revocation lists written as DER and signed by node:crypto on the thread pool: an X.509 library costs
 * three times the arithmetic.
 */
const signAsync = promisify(
  (
    hash: string,
    data: Uint8Array,
    key: KeyObject,
    done: (error: Error | null, signature: Buffer) => void,
  ) => {
    nodeSign(hash, data, key, done);
  },
);

const nameTypes = { ou: '2.5.4.11', cn: '2.5.4.3', o: '2.5.4.10' } as const;
type NamePart = readonly [keyof typeof nameTypes, string];

/** A distinguished name, one attribute an RDN. */
export const distinguishedName = (...parts: readonly NamePart[]): Buffer =>
  sequence(...parts.map(([type, value]) => set(sequence(oid(nameTypes[type]), utf8(value)))));

const usageBits: readonly KeyUsageName[] = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
];

const extension = (id: string, value: Buffer, critical = false): Buffer =>
  sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));

export const keyUsageExtension = (usages: readonly KeyUsageName[]): Buffer => {
  const indices = usages.map((usage) => usageBits.indexOf(usage));
  const byte = indices.reduce((value, index) => value | (0x80 >> index), 0);
  return extension(extensionOid.keyUsage, bits(Buffer.from([byte]), 7 - Math.max(...indices)), true);
};

export const caExtension = (pathLength: number): Buffer =>
  extension(extensionOid.basicConstraints, sequence(boolean(true), smallInteger(pathLength)), true);
export const endEntityExtension = (): Buffer => extension(extensionOid.basicConstraints, sequence(), true);

export const purposeExtension = (...purposes: readonly string[]): Buffer =>
  extension(extensionOid.extendedKeyUsage, sequence(...purposes.map(oid)));

export const uriNameExtension = (uri: string): Buffer =>
  extension(extensionOid.subjectAltName, sequence(element(context(6, false), Buffer.from(uri, 'ascii'))));

export const crlPointExtension = (uri: string): Buffer => {
  const name = element(context(6, false), Buffer.from(uri, 'ascii'));
  const point = sequence(element(context(0), element(context(0), name)));
  return extension(extensionOid.crlDistributionPoints, sequence(point));
};

/** SHA-1 of the key bits (RFC 5280, 4.2.1.2, method 1): a name for the key, not a protection. */
export const keyIdentifier = (spki: Buffer): Buffer => {
  const [, key] = readSequence(spki);
  return createHash('sha1')
    .update(key === undefined ? spki : wholeBits(key))
    .digest();
};

export const subjectKeyExtension = (spki: Buffer): Buffer =>
  extension(extensionOid.subjectKeyId, octets(keyIdentifier(spki)));
export const authorityKeyExtension = (spki: Buffer): Buffer =>
  extension(extensionOid.authorityKeyId, sequence(element(context(0, false), keyIdentifier(spki))));

/** 127 random bits, positive (RFC 5280, 4.1.2.2). */
export const randomSerial = (): Buffer => {
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  return serial;
};

export interface CertificateParts {
  readonly serial: Buffer;
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly spki: Buffer;
  readonly extensions: readonly Buffer[];
}

const algorithmOf = (key: KeyObject): Buffer => {
  const { oid: id, isRsa } = ownSignature(key);
  return isRsa ? sequence(oid(id), element(0x05)) : sequence(oid(id));
};

const signed = async (content: Buffer, key: KeyObject): Promise<Buffer> => {
  const signature = await signAsync(ownSignature(key).hash, content, key);
  return sequence(content, algorithmOf(key), bits(signature));
};

/** Builds a version 3 certificate and signs it with `key`; returns DER. */
export const buildCertificate = (parts: CertificateParts, key: KeyObject): Promise<Buffer> => {
  const tbs = sequence(
    element(context(0), smallInteger(2)),
    unsigned(parts.serial),
    algorithmOf(key),
    parts.issuer,
    sequence(time(parts.notBefore), time(parts.notAfter)),
    parts.subject,
    parts.spki,
    element(context(3), sequence(...parts.extensions)),
  );
  return signed(tbs, key);
};

export interface RevokedSerial {
  /** Lower-case hex. */
  readonly serial: string;
  readonly revokedAt: Date;
}
export interface CrlParts {
  readonly issuer: Buffer;
  readonly issuerSpki: Buffer;
  readonly number: number;
  readonly thisUpdate: Date;
  readonly nextUpdate: Date;
  readonly revoked: readonly RevokedSerial[];
}

const crlNumber = '2.5.29.20';

/** Builds a version 2 revocation list (RFC 5280, 5); returns DER. */
export const buildCrl = (parts: CrlParts, key: KeyObject): Promise<Buffer> => {
  const entries = parts.revoked.map(({ serial, revokedAt }) =>
    sequence(unsigned(Buffer.from(serial, 'hex')), time(revokedAt)),
  );
  const extensions = sequence(
    authorityKeyExtension(parts.issuerSpki),
    extension(crlNumber, smallInteger(parts.number)),
  );
  const tbs = sequence(
    smallInteger(1),
    algorithmOf(key),
    parts.issuer,
    time(parts.thisUpdate),
    time(parts.nextUpdate),
    ...(entries.length === 0 ? [] : [sequence(...entries)]),
    element(context(0), extensions),
  );
  return signed(tbs, key);
};
