import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { AppError } from '../../domain/errors.js';
import { children, derError, expectTag, oidText, readSequence, tags, wholeBits } from './der.js';

const ecPublicKey = '1.2.840.10045.2.1';

/**
 * A DER SubjectPublicKeyInfo, nothing behind it. Curves given by parameters instead of by name are refused
 * (RFC 5480, 2.1.1): a chosen generator would make anybody's key.
 */
export const readSpki = (der: Buffer): KeyObject => {
  const [algorithm, key, ...rest] = readSequence(der);
  if (key === undefined || rest.length > 0) throw derError('public key is not two elements');
  wholeBits(key);
  const [id, parameters] = children(expectTag(algorithm, tags.sequence));
  const isEc = oidText(expectTag(id, tags.oid).content) === ecPublicKey;
  if (isEc && parameters?.tag !== tags.oid) throw new AppError('invalid', 'public key has no named curve');
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' });
  } catch (error) {
    throw new AppError('invalid', 'not a usable public key', { cause: error });
  }
};
