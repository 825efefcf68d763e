import { invalidField } from '../errors.js';

/** Lower-case hex of SHA-384 (96 characters, the canonical form) or SHA-256 (64) over EK material. */
const forms = /^(?:[0-9a-f]{64}|[0-9a-f]{96})$/;

/** Trims, lower-cases and checks a fingerprint as a client sends it. 422 on `field` when it has neither form. */
export const normalizeFingerprint = (text: string, field = 'ek_fingerprint'): string => {
  const normal = text.trim().toLowerCase();
  if (!forms.test(normal)) throw invalidField(field, 'must be 64 or 96 hexadecimal characters');
  return normal;
};

export const isCanonicalFingerprint = (text: string): boolean => /^[0-9a-f]{96}$/.test(text);
