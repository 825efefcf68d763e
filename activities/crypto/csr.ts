import type { KeyObject } from 'node:crypto';
import { AppError } from '../../domain/errors.js';
import {
  children,
  context,
  expectTag,
  integerContent,
  oidText,
  readSequence,
  tags,
  wholeBits,
} from './der.js';
import { derError } from './der.js';
import { onlyPemBlock } from './pem.js';
import { signatureHash } from './signature-algorithms.js';
import { readSpki } from './spki.js';
import { tpmKeyOf } from './tpm-key.js';
import { verifyAsync } from './verify.js';

/**
 * Reads the public key of a PKCS#10 request (RFC 2986) and checks that the sender holds its private half. Names and
 * attributes in it are ignored: the profile is ours. Throws `invalid`.
 */
export const readCsr = async (pem: string): Promise<KeyObject> => {
  const [info, algorithm, signature, ...rest] = readSequence(
    onlyPemBlock(pem, 'CERTIFICATE REQUEST', 'csr_pem'),
  );
  if (signature === undefined || rest.length > 0) throw derError('request is not three elements');
  const [version, subject, spki, attributes, ...more] = children(expectTag(info, tags.sequence));
  if (spki === undefined || more.length > 0) throw derError('request lacks a field');
  if (version === undefined || integerContent(version).toString('hex') !== '00')
    throw derError('request version');
  expectTag(subject, tags.sequence);
  if (attributes !== undefined) expectTag(attributes, context(0));
  const key = readSpki(spki.raw);
  tpmKeyOf(key, 'key of the request');
  const id = oidText(expectTag(children(expectTag(algorithm, tags.sequence))[0], tags.oid).content);
  const hash = signatureHash(id, key);
  const signed = expectTag(info, tags.sequence).raw;
  if (hash === undefined || (await verifyAsync(hash, signed, key, wholeBits(signature))) !== true) {
    throw new AppError('invalid', 'csr_pem is not signed by its own key', { code: 'csr_signature' });
  }
  return key;
};
