import type { KeyObject } from 'node:crypto';
import type { Role } from '../../domain/broker/machine.js';
import type { Certificate } from './certificate.js';
import type { RevokedSerial } from './certificate-build.js';
import {
  authorityKeyExtension,
  buildCertificate,
  buildCrl,
  crlPointExtension,
  distinguishedName,
  endEntityExtension,
  keyUsageExtension,
  purposeExtension,
  randomSerial,
  subjectKeyExtension,
  uriNameExtension,
} from './certificate-build.js';
import { toPem } from './pem.js';
import { spkiOf } from './tpm-key.js';

/** The enrollment CA's key and certificate. */
export interface Authority {
  readonly certificate: Certificate;
  readonly key: KeyObject;
  readonly pem: string;
  /** Where relying parties find the revocation list. */
  readonly crlUrl: string;
}

export interface Issued {
  readonly der: Buffer;
  readonly pem: string;
  /** Lower-case hex. */
  readonly serial: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** The organisational unit of operator certificates; no machine role is called so. */
export const operatorUnit = 'operator';
export const clientAuth = '1.3.6.1.5.5.7.3.2';
const dayMs = 86_400_000;
/** Clocks of nodes may be a little behind. */
const backdateMs = 300_000;
const crlLifeMs = dayMs;

interface Subject {
  readonly unit: string;
  readonly commonName: string;
  readonly uri?: string;
}

const issue = async (
  authority: Authority,
  subject: Subject,
  publicKey: KeyObject,
  days: number,
  now: Date,
): Promise<Issued> => {
  const serial = randomSerial();
  const spki = spkiOf(publicKey);
  const start = now.getTime() - (now.getTime() % 1000);
  const last = authority.certificate.notAfter.getTime();
  const notBefore = new Date(start - backdateMs);
  const notAfter = new Date(Math.min(start + days * dayMs, last));
  const der = await buildCertificate(
    {
      serial,
      issuer: authority.certificate.subject,
      subject: distinguishedName(['ou', subject.unit], ['cn', subject.commonName]),
      notBefore,
      notAfter,
      spki,
      extensions: [
        endEntityExtension(),
        keyUsageExtension(['digitalSignature', 'keyEncipherment']),
        purposeExtension(clientAuth),
        ...(subject.uri === undefined ? [] : [uriNameExtension(subject.uri)]),
        subjectKeyExtension(spki),
        authorityKeyExtension(authority.certificate.spki),
        crlPointExtension(authority.crlUrl),
      ],
    },
    authority.key,
  );
  return { der, pem: toPem('CERTIFICATE', der), serial: serial.toString('hex'), notBefore, notAfter };
};

export interface MachineSubject {
  readonly machineId: string;
  readonly role: Role;
  readonly ekFingerprint: string;
  readonly publicKey: KeyObject;
}

/** The enrollment certificate of a machine: CN = id, OU = role, URI = EK; never OU=operator, as that is no role. */
export const issueMachineCertificate = (
  authority: Authority,
  { machineId, role, ekFingerprint, publicKey }: MachineSubject,
  days: number,
  now: Date,
): Promise<Issued> => {
  const subject = { unit: role, commonName: machineId, uri: ekUri(ekFingerprint) };
  return issue(authority, subject, publicKey, days, now);
};

export const ekUri = (ekFingerprint: string): string => `urn:svc:ek:${ekFingerprint}`;

/** A client certificate that makes its holder the operator `commonName`. */
export const issueOperatorCertificate = (
  authority: Authority,
  commonName: string,
  publicKey: KeyObject,
  days: number,
  now: Date,
): Promise<Issued> => issue(authority, { unit: operatorUnit, commonName }, publicKey, days, now);

/** The revocation list as of `now`, valid for a day; DER. Its number is the time in seconds. */
export const issueCrl = (
  authority: Authority,
  revoked: readonly RevokedSerial[],
  now: Date,
): Promise<Buffer> =>
  buildCrl(
    {
      issuer: authority.certificate.subject,
      issuerSpki: authority.certificate.spki,
      number: Math.floor(now.getTime() / 1000),
      thisUpdate: now,
      nextUpdate: new Date(now.getTime() + crlLifeMs),
      revoked,
    },
    authority.key,
  );
