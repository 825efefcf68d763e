import { createHash, timingSafeEqual } from 'node:crypto';

const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();

/** Compares with a secret in constant time whatever the lengths: both sides are hashed first. */
export const createSecretCheck = (secret: string): ((given: string) => boolean) => {
  const expected = digest(secret);
  return (given) => timingSafeEqual(digest(given), expected);
};
