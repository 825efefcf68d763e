import { AppError } from '../../domain/errors.js';
import { decodeBase64 } from './base64.js';

/** Textual encodings of RFC 7468, strict: one label, base64 lines, nothing but white space around the blocks. */
const block = (label: string) =>
  `-----BEGIN ${label}-----\\r?\\n((?:[A-Za-z0-9+/=]{1,80}\\r?\\n)+)-----END ${label}-----(?:\\r?\\n|$)`;

const maxBytes = 65_536;

const body = (lines: string, what: string): Buffer =>
  decodeBase64(lines.replace(/[\r\n]/g, ''), what, maxBytes);

/** The first block of `text`, which begins with it and carries `label`; what follows is not looked at. */
export const firstPemBlock = (text: string, label: string, what: string): Buffer => {
  const lines = new RegExp(`^${block(label)}`).exec(text)?.[1];
  if (lines === undefined) throw new AppError('invalid', `${what} is not a PEM block "${label}"`);
  return body(lines, what);
};

/** The only block of `text`. */
export const onlyPemBlock = (text: string, label: string, what: string): Buffer => {
  const blocks = pemBlocks(text, label, what);
  const [only] = blocks;
  if (only === undefined || blocks.length !== 1)
    throw new AppError('invalid', `${what} must be one PEM block "${label}"`);
  return only;
};

/** Every block of `text`; anything between them but white space is refused. */
export const pemBlocks = (text: string, label: string, what: string): Buffer[] => {
  if (text.length > 4 * maxBytes) throw new AppError('invalid', `${what} is too long`);
  const found: Buffer[] = [];
  const rest = text.replace(new RegExp(block(label), 'g'), (_whole, lines: string) => {
    found.push(body(lines, what));
    return '';
  });
  if (rest.trim() !== '') throw new AppError('invalid', `${what} holds more than PEM blocks "${label}"`);
  return found;
};

export const toPem = (label: string, der: Uint8Array): string => {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
};
