import { AppError } from '../../domain/errors.js';

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * Decodes standard, padded base64 and nothing else: other characters, line breaks, missing padding and stray bits are
 * refused, so that one value has one spelling. Throws `invalid` naming `what`.
 */
export const decodeBase64 = (text: string, what: string, maxBytes = 16_384): Buffer => {
  if (text.length > Math.ceil(maxBytes / 3) * 4) {
    throw new AppError('invalid', `${what} is longer than ${maxBytes} bytes`);
  }
  const bytes = text.length % 4 === 0 && alphabet.test(text) ? Buffer.from(text, 'base64') : undefined;
  if (bytes === undefined || bytes.toString('base64') !== text) {
    throw new AppError('invalid', `${what} is not valid base64`);
  }
  return bytes;
};
