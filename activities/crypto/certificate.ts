import { X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { AppError } from '../../domain/errors.js';
import type { DerElement } from './der.js';
import {
  children,
  context,
  derError,
  expectTag,
  integerContent,
  oidText,
  readBoolean,
  readOnly,
  readSequence,
  tags,
  wholeBits,
} from './der.js';
import { readSpki } from './spki.js';

/** The parts of an X.509 certificate that decisions are made on, read strictly (RFC 5280, 4.1). */
export interface Certificate {
  readonly der: Buffer;
  /** The signed TBSCertificate bytes. */
  readonly tbs: Buffer;
  readonly version: number;
  /** Lower-case hex of the serial number's content octets. */
  readonly serial: string;
  /** DER of the names; equal names are compared byte for byte. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly notBefore: Date;
  readonly notAfter: Date;
  readonly spki: Buffer;
  readonly signatureAlgorithm: string;
  readonly signature: Buffer;
  readonly extensions: ReadonlyMap<string, Extension>;
  readonly publicKey: KeyObject;
  /** OpenSSL's view, for names in a reader's form. */
  readonly view: X509Certificate;
}
export interface Extension {
  readonly critical: boolean;
  readonly value: Buffer;
}

const maxBytes = 16_384;

/** Parses one DER certificate; throws `invalid` with the reason. Trailing bytes are refused. */
export const parseCertificate = (der: Buffer): Certificate => {
  if (der.length > maxBytes) throw derError(`certificate longer than ${maxBytes} bytes`);
  const [tbsElement, algorithm, signature, ...rest] = readSequence(der);
  if (signature === undefined || rest.length > 0) throw derError('certificate is not three elements');
  const tbs = expectTag(tbsElement, tags.sequence);
  const outer = expectTag(algorithm, tags.sequence);
  const fields = readTbs(children(tbs));
  if (!fields.algorithm.equals(outer.raw)) throw derError('the two signature algorithms differ');
  const view = openSslView(der);
  return {
    der,
    tbs: tbs.raw,
    ...fields.values,
    signatureAlgorithm: oidText(expectTag(children(outer)[0], tags.oid).content),
    signature: wholeBits(signature),
    publicKey: readSpki(fields.values.spki),
    view,
  };
};

const openSslView = (der: Buffer): X509Certificate => {
  try {
    return new X509Certificate(der);
  } catch (error) {
    throw new AppError('invalid', `not an X.509 certificate: ${reason(error)}`, { cause: error });
  }
};

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const readTbs = (parts: readonly DerElement[]) => {
  const versioned = parts[0]?.tag === context(0);
  const [serial, algorithm, issuer, validity, subject, spki, ...optional] = versioned
    ? parts.slice(1)
    : parts;
  if (serial === undefined || spki === undefined) throw derError('certificate lacks a field');
  const [notBefore, notAfter, ...more] = children(expectTag(validity, tags.sequence));
  if (more.length > 0) throw derError('validity');
  return {
    algorithm: expectTag(algorithm, tags.sequence).raw,
    values: {
      version: versioned ? readVersion(parts[0]) : 1,
      serial: integerContent(serial).toString('hex'),
      issuer: expectTag(issuer, tags.sequence).raw,
      subject: expectTag(subject, tags.sequence).raw,
      notBefore: readTime(notBefore),
      notAfter: readTime(notAfter),
      spki: expectTag(spki, tags.sequence).raw,
      extensions: readExtensions(optional),
    },
  };
};

const readVersion = (element: DerElement | undefined): number => {
  const content = element === undefined ? undefined : integerContent(readOnly(element.content));
  if (content?.length !== 1 || content[0] === undefined || content[0] > 2) throw derError('unknown version');
  return content[0] + 1;
};

const utcForm = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;
const generalizedForm = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/;

/** UTCTime or GeneralizedTime in the one form that RFC 5280 (4.1.2.5) allows. */
export const readTime = (element: DerElement | undefined): Date => {
  const text = element?.content.toString('latin1') ?? '';
  const match =
    element?.tag === tags.utcTime
      ? utcForm.exec(text)
      : element?.tag === tags.generalizedTime
        ? generalizedForm.exec(text)
        : null;
  if (match === null) throw derError('time');
  const [, year = '', month, day, hour, minute, second] = match;
  const fullYear = year.length === 4 ? year : `${Number(year) >= 50 ? '19' : '20'}${year}`;
  const iso = `${fullYear}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const date = new Date(iso);
  if (Number.isNaN(date.getTime()) || date.toISOString() !== iso) throw derError('time');
  return date;
};

const readExtensions = (optional: readonly DerElement[]): Map<string, Extension> => {
  const found = new Map<string, Extension>();
  const holder = optional.find((element) => element.tag === context(3));
  const known = new Set<number>([context(1, false), context(2, false), context(3)]);
  if (optional.some((element) => !known.has(element.tag))) throw derError('unknown certificate field');
  if (holder === undefined) return found;
  for (const extension of readSequence(holder.content)) {
    const parts = children(expectTag(extension, tags.sequence));
    const [id, second, third] = parts;
    const flagged = second?.tag === tags.boolean;
    const value = expectTag(flagged ? third : second, tags.octetString);
    if (parts.length !== (flagged ? 3 : 2)) throw derError('extension');
    const name = oidText(expectTag(id, tags.oid).content);
    if (found.has(name)) throw derError(`extension ${name} twice`);
    found.set(name, { critical: flagged && readBoolean(second), value: value.content });
  }
  return found;
};

/** The subject for a reader; Node has no text at all for an empty one. */
export const subjectText = ({ view }: Certificate): string =>
  (view.subject as string | undefined)?.replaceAll('\n', ', ') ?? 'a certificate without subject';
