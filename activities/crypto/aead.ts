import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { AppError } from '../../domain/errors.js';

/** AES-256-GCM with a fresh random 96-bit nonce and a 128-bit tag. */
export interface Sealed {
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

export const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const none = new Uint8Array();

export const seal = (key: Uint8Array, plaintext: Uint8Array, additionalData: Uint8Array = none): Sealed => {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(additionalData);
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return { nonce, ciphertext, tag: cipher.getAuthTag() };
};

/** Throws `unavailable` when key, nonce, tag, ciphertext and additional data do not belong together. */
export const open = (key: Uint8Array, sealed: Sealed, additionalData: Uint8Array = none): Buffer => {
  const failed = (cause?: unknown) =>
    new AppError('unavailable', 'sealed value cannot be opened: it was changed or moved', {
      cause,
      code: 'unreadable',
    });
  if (sealed.nonce.length !== nonceBytes || sealed.tag.length !== tagBytes) throw failed();
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.nonce, { authTagLength: tagBytes });
  decipher.setAAD(additionalData);
  decipher.setAuthTag(sealed.tag);
  const plaintext = decipher.update(sealed.ciphertext);
  try {
    return Buffer.concat([plaintext, decipher.final()]);
  } catch (error) {
    throw failed(error);
  }
};
