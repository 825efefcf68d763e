import { tags } from './der.js';

/** Writers of DER, enough for certificates, revocation lists and key containers. */
const lengthBytes = (length: number): Buffer => {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = length < 0x100 ? 1 : length < 0x10000 ? 2 : 3;
  const out = Buffer.alloc(1 + bytes, 0x80 | bytes);
  out.writeUIntBE(length, 1, bytes);
  return out;
};

export const element = (tag: number, ...content: readonly Uint8Array[]): Buffer => {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(length), ...content]);
};

export const sequence = (...content: readonly Uint8Array[]): Buffer => element(tags.sequence, ...content);
export const set = (...content: readonly Uint8Array[]): Buffer => element(tags.set, ...content);
export const octets = (content: Uint8Array): Buffer => element(tags.octetString, content);
export const bits = (content: Uint8Array, unused = 0): Buffer =>
  element(tags.bitString, Buffer.from([unused]), content);
export const boolean = (value: boolean): Buffer => element(tags.boolean, Buffer.from([value ? 0xff : 0]));
export const utf8 = (value: string): Buffer => element(tags.utf8, Buffer.from(value, 'utf8'));

/** An INTEGER from unsigned big-endian bytes. */
export const unsigned = (value: Uint8Array): Buffer => {
  let start = 0;
  while (start < value.length - 1 && value[start] === 0) start += 1;
  const body = value.subarray(start);
  const first = body[0] ?? 0;
  const lead = body.length === 0 || first >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return element(tags.integer, lead, body);
};

export const smallInteger = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return unsigned(bytes);
};

const base128 = (arc: number): number[] => {
  const digits = [arc & 0x7f];
  for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) {
    digits.unshift((rest & 0x7f) | 0x80);
  }
  return digits;
};

export const oid = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(tags.oid, Buffer.from([first * 40 + second, ...rest].flatMap(base128)));
};

/** UTCTime until 2049, GeneralizedTime after (RFC 5280, 4.1.2.5); whole seconds. */
export const time = (date: Date): Buffer => {
  const digits = date
    .toISOString()
    .replace(/\.\d{3}Z$/, 'Z')
    .replace(/[-:T]/g, '');
  return date.getUTCFullYear() < 2050
    ? element(tags.utcTime, Buffer.from(digits.slice(2), 'ascii'))
    : element(tags.generalizedTime, Buffer.from(digits, 'ascii'));
};
