import type { DerElement } from './der.js';
import { children, context, derError, expectTag, oidText, readOnly, readSequence, tags } from './der.js';

/** GeneralName (RFC 5280, 4.2.1.6), as far as names are compared. */
export type GeneralName =
  | { readonly kind: 'email' | 'dns' | 'uri'; readonly text: string }
  | { readonly kind: 'directory'; readonly rdns: readonly string[] }
  | { readonly kind: 'ip'; readonly bytes: Buffer }
  | { readonly kind: 'other'; readonly tag: number };

const textKinds = new Map<number, 'email' | 'dns' | 'uri'>([
  [context(1, false), 'email'],
  [context(2, false), 'dns'],
  [context(6, false), 'uri'],
]);

export const readGeneralName = (element: DerElement): GeneralName => {
  const kind = textKinds.get(element.tag);
  if (kind !== undefined) return { kind, text: ia5(element.content) };
  if (element.tag === context(4)) return { kind: 'directory', rdns: readRdns(readOnly(element.content).raw) };
  if (element.tag === context(7, false)) return { kind: 'ip', bytes: element.content };
  return { kind: 'other', tag: element.tag };
};

/** The names of a SubjectAltName value; an empty list is malformed. */
export const readGeneralNames = (value: Buffer): GeneralName[] => {
  const names = readSequence(value).map(readGeneralName);
  if (names.length === 0) throw derError('empty alternative name');
  return names;
};

const ia5 = (content: Buffer): string => {
  if (content.some((byte) => byte < 0x20 || byte > 0x7e)) throw derError('name is not printable ASCII');
  return content.toString('latin1');
};

/** A Name as one comparable text per RDN: types by identifier, values trimmed, case and inner spaces folded. */
export const readRdns = (name: Buffer): string[] =>
  readSequence(name).map((rdn) =>
    children(expectTag(rdn, tags.set))
      .map(readAttribute)
      .map(({ type, value }) => `${type}=${value}`)
      .sort()
      .join('+'),
  );

const utf16Tag = 0x1e;

const readAttribute = (attribute: DerElement): { readonly type: string; readonly value: string } => {
  const [type, value, ...rest] = children(expectTag(attribute, tags.sequence));
  if (value === undefined || rest.length > 0) throw derError('name attribute');
  const text =
    value.tag === utf16Tag ? swapped(value.content).toString('utf16le') : value.content.toString('utf8');
  const folded = text.normalize('NFKC').trim().replace(/\s+/g, ' ').toLowerCase();
  return { type: oidText(expectTag(type, tags.oid).content), value: folded };
};

const swapped = (content: Buffer): Buffer => {
  if (content.length % 2 !== 0) throw derError('BMPString');
  return Buffer.from(content).swap16();
};

const emailAttribute = '1.2.840.113549.1.9.1';

/** E-mail addresses inside a distinguished name, which name constraints on mailboxes also cover. */
export const emailsIn = (rdns: readonly string[]): string[] =>
  rdns
    .flatMap((rdn) => rdn.split('+'))
    .filter((part) => part.startsWith(`${emailAttribute}=`))
    .map((part) => part.slice(emailAttribute.length + 1));

/** Values of one attribute type in a Name, as written (no folding). */
export const attributeValues = (name: Buffer, type: string): string[] =>
  readSequence(name)
    .flatMap((rdn) => children(expectTag(rdn, tags.set)))
    .map((attribute) => children(expectTag(attribute, tags.sequence)))
    .filter(([id]) => id !== undefined && oidText(id.content) === type)
    .map(([, value]) => value?.content.toString('utf8') ?? '');
