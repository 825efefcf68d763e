import { constants, createDecipheriv, privateDecrypt } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');

/** Opens an `ek-aes256gcm-v1` envelope as the holder of the EK would. */
export const openRsaEnvelope = (
  envelope: { wrapped_key: string; iv: string; ciphertext: string },
  privateKey: KeyObject,
): string => {
  const key = privateDecrypt(
    { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
    bytes(envelope.wrapped_key),
  );
  const sealed = bytes(envelope.ciphertext);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes(envelope.iv));
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]).toString('utf8');
};
