import { generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Certificate } from '../../activities/crypto/certificate.js';
import { parseCertificate } from '../../activities/crypto/certificate.js';
import {
  authorityKeyExtension,
  buildCertificate,
  caExtension,
  distinguishedName,
  endEntityExtension,
  keyUsageExtension,
  purposeExtension,
  randomSerial,
  subjectKeyExtension,
} from '../../activities/crypto/certificate-build.js';
import { boolean, octets, oid, sequence } from '../../activities/crypto/der-write.js';
import { spkiOf } from '../../activities/crypto/tpm-key.js';

/** Certificates of any shape for tests: a well-formed chain, and one twist at a time. */
export interface Entity {
  readonly certificate: Certificate;
  readonly key: KeyObject;
  readonly name: Buffer;
}
export interface Twist {
  readonly name?: Buffer;
  readonly extensions?: (usual: Record<string, Buffer>) => Record<string, Buffer>;
  readonly serial?: Buffer;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  readonly key?: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  /** Signs with another key than the issuer's. */
  readonly signer?: KeyObject;
}

export const p256 = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
export const testPurpose = '1.3.6.1.5.5.7.3.2';
export const testNow = new Date('2026-06-01T00:00:00Z');

export const rawExtension = (id: string, value: Buffer, critical = false): Buffer =>
  sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value));

const build = async (
  twist: Twist,
  usualName: Buffer,
  usual: (spki: Buffer) => Record<string, Buffer>,
  issuer?: Entity,
): Promise<Entity> => {
  const pair = twist.key ?? p256();
  const spki = spkiOf(pair.publicKey);
  const name = twist.name ?? usualName;
  const identifiers = {
    ski: subjectKeyExtension(spki),
    aki: authorityKeyExtension(issuer === undefined ? spki : issuer.certificate.spki),
  };
  const extensions = { ...usual(spki), ...identifiers };
  const der = await buildCertificate(
    {
      serial: twist.serial ?? randomSerial(),
      issuer: issuer?.name ?? name,
      subject: name,
      notBefore: twist.notBefore ?? new Date('2026-01-01T00:00:00Z'),
      notAfter: twist.notAfter ?? new Date('2027-01-01T00:00:00Z'),
      spki,
      extensions: Object.values(twist.extensions?.(extensions) ?? extensions),
    },
    twist.signer ?? issuer?.key ?? pair.privateKey,
  );
  return { certificate: parseCertificate(der), key: pair.privateKey, name };
};

const caExtensions = (pathLength: number) => () => ({
  constraints: caExtension(pathLength),
  usage: keyUsageExtension(['keyCertSign', 'cRLSign']),
});

export const makeRoot = (cn: string, twist: Twist = {}): Promise<Entity> =>
  build(twist, distinguishedName(['cn', cn]), caExtensions(5));

export const makeIntermediate = (
  cn: string,
  issuer: Entity,
  twist: Twist = {},
  pathLength = 4,
): Promise<Entity> => build(twist, distinguishedName(['cn', cn]), caExtensions(pathLength), issuer);

export const makeLeaf = (issuer: Entity, twist: Twist = {}): Promise<Entity> =>
  build(
    twist,
    distinguishedName(['o', 'Makers'], ['cn', 'leaf']),
    () => ({
      constraints: endEntityExtension(),
      usage: keyUsageExtension(['digitalSignature']),
      purpose: purposeExtension(testPurpose),
    }),
    issuer,
  );
