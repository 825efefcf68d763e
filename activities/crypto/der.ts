import { AppError } from '../../domain/errors.js';

/** DER as X.690 section 10 wants it: definite, minimal lengths and one-byte tags; anything else is refused. */
export interface DerElement {
  readonly tag: number;
  readonly content: Buffer;
  /** Tag, length and content. */
  readonly raw: Buffer;
}

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  ia5: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** The tag of `[number]` in its context, primitive or constructed. */
export const context = (number: number, constructed = true): number => (constructed ? 0xa0 : 0x80) | number;

export const derError = (why: string): AppError =>
  new AppError('invalid', `malformed DER: ${why}`, { code: 'der_malformed' });

/** Reads the element at `offset`; what follows it is not looked at. */
export const readElement = (bytes: Buffer, offset = 0): DerElement => {
  const tag = bytes[offset];
  const first = bytes[offset + 1];
  if (tag === undefined || first === undefined) throw derError('it ends too early');
  if ((tag & 0x1f) === 0x1f) throw derError('multi-byte tag');
  const { length, header } = first < 0x80 ? { length: first, header: 2 } : longLength(bytes, offset, first);
  const start = offset + header;
  if (length > bytes.length - start) throw derError('a length reaches past the end');
  const end = start + length;
  return { tag, content: bytes.subarray(start, end), raw: bytes.subarray(offset, end) };
};

const longLength = (bytes: Buffer, offset: number, first: number): { length: number; header: number } => {
  const count = first & 0x7f;
  if (count === 0 || count > 3) throw derError('indefinite or huge length');
  if (offset + 2 + count > bytes.length) throw derError('it ends too early');
  const length = bytes.readUIntBE(offset + 2, count);
  const minimal = length >= 0x80 && length >= 2 ** (8 * (count - 1));
  if (!minimal) throw derError('length not in its shortest form');
  return { length, header: 2 + count };
};

/** The one element that fills `bytes`; throws on trailing bytes and on another tag than `tag`. */
export const readOnly = (bytes: Buffer, tag?: number): DerElement => {
  const element = readElement(bytes);
  if (element.raw.length !== bytes.length) throw derError('trailing bytes');
  if (tag !== undefined) expectTag(element, tag);
  return element;
};

export const expectTag = (element: DerElement | undefined, tag: number): DerElement => {
  if (element?.tag !== tag) throw derError(`expected tag 0x${tag.toString(16)}`);
  return element;
};

const maxChildren = 4096;

/** The elements inside a constructed one, in order. */
export const children = (element: DerElement): DerElement[] => {
  const found: DerElement[] = [];
  for (let offset = 0; offset < element.content.length;) {
    const child = readElement(element.content, offset);
    if (found.push(child) > maxChildren) throw derError('too many elements');
    offset += child.raw.length;
  }
  return found;
};

/** A named type: `readOnly` with the SEQUENCE tag and its children. */
export const readSequence = (bytes: Buffer): DerElement[] => children(readOnly(bytes, tags.sequence));

/** Dotted form of an OBJECT IDENTIFIER's content. */
export const oidText = (content: Buffer): string => {
  const arcs: number[] = [];
  let value = 0;
  let fresh = true;
  for (const byte of content) {
    if (fresh && byte === 0x80) throw derError('object identifier not in its shortest form');
    value = value * 128 + (byte & 0x7f);
    if (value > Number.MAX_SAFE_INTEGER) throw derError('object identifier too large');
    fresh = byte < 0x80;
    if (fresh) {
      arcs.push(value);
      value = 0;
    }
  }
  const [head, ...rest] = arcs;
  if (head === undefined || !fresh) throw derError('empty object identifier');
  const top = Math.min(2, Math.floor(head / 40));
  return [top, head - top * 40, ...rest].join('.');
};

/** Content of a BIT STRING without unused bits. */
export const wholeBits = (element: DerElement): Buffer => {
  if (element.tag !== tags.bitString || element.content[0] !== 0) throw derError('bit string of odd length');
  return element.content.subarray(1);
};

/** A BOOLEAN: DER knows 00 and FF only. */
export const readBoolean = (element: DerElement): boolean => {
  const [byte] = expectTag(element, tags.boolean).content;
  if (element.content.length !== 1 || (byte !== 0 && byte !== 0xff)) throw derError('boolean');
  return byte === 0xff;
};

/** Content of an INTEGER, checked to be in its shortest form. */
export const integerContent = (element: DerElement): Buffer => {
  const { content } = expectTag(element, tags.integer);
  const [first, second] = content;
  if (first === undefined) throw derError('empty integer');
  const padded =
    second !== undefined && ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80));
  if (padded) throw derError('integer not in its shortest form');
  return content;
};
