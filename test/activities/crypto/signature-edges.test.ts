import { constants, createHash, privateEncrypt, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { open, seal } from '../../../activities/crypto/aead.js';
import { integer, rawSequence } from '../../support/ber.js';
import { verifyNonceSignature } from '../../../activities/crypto/nonce-signature.js';
import { verifyByAk } from '../../../activities/crypto/verify.js';
import { makeSoftwareAk } from '../../support/software-ak.js';

/** In the manner of Project Wycheproof: what a lax verifier takes and a strict one must not. */
const nonce = createHash('sha256').update('nonce').digest();
const orders = {
  prime256v1: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  secp384r1:
    0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
} as const;

const bytesOf = (value: bigint, size: number) =>
  Buffer.from(value.toString(16).padStart(size * 2, '0'), 'hex');

describe.each([
  ['prime256v1', 'sha256', 32],
  ['secp384r1', 'sha384', 48],
] as const)('ECDSA on %s', (curve, hash, size) => {
  const { ak, privateKey } = makeSoftwareAk('ecdsa', hash, curve);
  const raw = sign(hash, nonce, { key: privateKey, dsaEncoding: 'ieee-p1363' });
  const [r, s] = [raw.subarray(0, size), raw.subarray(size)];
  const n = orders[curve];
  const number = (bytes: Buffer) => BigInt(`0x${bytes.toString('hex')}`);
  const der = (left: Buffer, right: Buffer) => rawSequence(integer(left), integer(right));
  const good = der(r, s);
  const accepts = (signature: Buffer) => verifyNonceSignature(ak, nonce, signature);

  it('takes DER, r||s and TPMT_SIGNATURE with stripped or padded components', async () => {
    await expect(accepts(good)).resolves.toBe(true);
    await expect(accepts(raw)).resolves.toBe(true);
    const components = (left: Buffer, right: Buffer) =>
      verifyByAk(ak, nonce, { scheme: 'ecdsa', hash, r: left, s: right });
    await expect(components(Buffer.concat([Buffer.alloc(1), r]), s)).resolves.toBe(true);
    await expect(components(r, s)).resolves.toBe(true);
  });

  const odd: [string, bigint][] = [
    ['0', 0n],
    ['1', 1n],
    ['n', n],
    ['n + 1', n + 1n],
    ['n - 1', n - 1n],
    ['r + n', number(r) + n],
    ['2^k - 1', (1n << BigInt(8 * size)) - 1n],
    ['2^k', 1n << BigInt(8 * size)],
    ['2^4096', 1n << 4096n],
  ];
  const pairs = odd.flatMap(([name, value]) => [
    [`r = ${name}`, value, number(s)] as const,
    [`s = ${name}`, number(r), value] as const,
    [`both ${name}`, value, value] as const,
  ]);
  it.each(pairs)('refuses %s in every form', async (_name, left, right) => {
    const width = (value: bigint) => Math.max(size, Math.ceil(value.toString(16).length / 2));
    const [a, b] = [bytesOf(left, width(left)), bytesOf(right, width(right))];
    await expect(accepts(der(a, b))).resolves.toBe(false);
    await expect(accepts(Buffer.concat([a, b]))).resolves.toBe(false);
    await expect(verifyByAk(ak, nonce, { scheme: 'ecdsa', hash, r: a, s: b })).resolves.toBe(false);
  });

  const long = (content: Buffer, tag = 0x30) =>
    Buffer.concat([Buffer.from([tag, 0x81, content.length]), content]);
  const inner = good.subarray(2);
  it.each<[string, Buffer]>([
    ['a long-form length', long(inner)],
    ['a length with a leading zero', Buffer.concat([Buffer.from([0x30, 0x82, 0, inner.length]), inner])],
    ['an indefinite length', Buffer.concat([Buffer.from([0x30, 0x80]), inner, Buffer.alloc(2)])],
    ['a trailing byte', Buffer.concat([good, Buffer.alloc(1)])],
    ['a trailing byte inside', rawSequence(integer(r), integer(s), Buffer.from([0]))],
    ['a third integer', rawSequence(integer(r), integer(s), integer(s))],
    ['one integer', rawSequence(integer(r))],
    ['no integers', rawSequence()],
    ['a padded integer', rawSequence(Buffer.concat([Buffer.from([2, size + 2, 0, 0]), r]), integer(s))],
    [
      'a negative integer',
      rawSequence(
        Buffer.concat([Buffer.from([2, size]), Buffer.from([0x80 | (r[0] ?? 0), ...r.subarray(1)])]),
        integer(s),
      ),
    ],
    ['an empty integer', rawSequence(Buffer.from([2, 0]), integer(s))],
    ['a truncation', good.subarray(0, good.length - 1)],
    ['a wrong outer tag', Buffer.concat([Buffer.from([0x31]), good.subarray(1)])],
    ['a wrong inner tag', rawSequence(Buffer.concat([Buffer.from([3]), integer(r).subarray(1)]), integer(s))],
    ['swapped components', Buffer.concat([s, r])],
    ['r||s cut by one', raw.subarray(0, raw.length - 1)],
    ['r||s padded', Buffer.concat([Buffer.alloc(1), raw])],
    ['nothing', Buffer.alloc(0)],
    ['zeros', Buffer.alloc(2 * size)],
  ])('refuses %s', async (_name, signature) => {
    await expect(accepts(signature)).resolves.toBe(false);
  });

  it('refuses another hash and another scheme under the same key', async () => {
    const other = hash === 'sha256' ? 'sha384' : 'sha256';
    const wrong = sign(other, nonce, { key: privateKey, dsaEncoding: 'der' });
    await expect(accepts(wrong)).resolves.toBe(false);
    await expect(verifyByAk(ak, nonce, { scheme: 'ecdsa', hash: other, r, s })).resolves.toBe(false);
    await expect(verifyByAk(ak, nonce, { scheme: 'rsassa', hash, signature: raw })).resolves.toBe(false);
  });
});

describe('RSASSA', () => {
  const { ak, privateKey } = makeSoftwareAk('rsassa', 'sha256');
  const accepts = (signature: Buffer) => verifyNonceSignature(ak, nonce, signature);
  const good = sign('sha256', nonce, privateKey);
  const info = Buffer.from('3031300d060960864801650304020105000420', 'hex');
  const digest = createHash('sha256').update(nonce).digest();
  const raw = (block: Buffer) =>
    privateEncrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, block);
  const block = (content: Buffer, padding = 253 - content.length, type = 1, filler = 0xff) =>
    Buffer.concat([
      Buffer.from([0, type]),
      Buffer.alloc(padding, filler),
      Buffer.from([0]),
      content,
      Buffer.alloc(253 - padding - content.length),
    ]);

  it('takes the right one', async () => {
    await expect(accepts(good)).resolves.toBe(true);
    await expect(accepts(raw(block(Buffer.concat([info, digest]))))).resolves.toBe(true);
  });

  it.each<[string, () => Buffer]>([
    [
      'short padding with garbage behind (Bleichenbacher)',
      () => raw(block(Buffer.concat([info, digest]), 8)),
    ],
    ['padding type 2', () => raw(block(Buffer.concat([info, digest]), undefined, 2))],
    ['padding type 0', () => raw(block(Buffer.concat([info, digest]), undefined, 0, 0))],
    ['other filler', () => raw(block(Buffer.concat([info, digest]), undefined, 1, 0xfe))],
    ['no digest info', () => raw(block(digest))],
    [
      'digest info of SHA-512',
      () => raw(block(Buffer.concat([Buffer.from('3031300d060960864801650304020305000420', 'hex'), digest]))),
    ],
    [
      'a long-form length in the digest info',
      () =>
        raw(block(Buffer.concat([Buffer.from('308131300d060960864801650304020105000420', 'hex'), digest]))),
    ],
    ['a trailing byte in the block', () => raw(block(Buffer.concat([info, digest, Buffer.from([0])])))],
    ['SHA-1', () => sign('sha1', nonce, privateKey)],
    ['SHA-384', () => sign('sha384', nonce, privateKey)],
    ['PSS', () => sign('sha256', nonce, { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING })],
    ['a leading zero byte', () => Buffer.concat([Buffer.alloc(1), good])],
    ['a cut byte', () => good.subarray(1)],
    ['zero', () => Buffer.alloc(256)],
    ['one', () => bytesOf(1n, 256)],
    ['all ones', () => Buffer.alloc(256, 0xff)],
  ])('refuses %s', async (_name, make) => {
    await expect(accepts(make())).resolves.toBe(false);
  });
});

describe('RSAPSS', () => {
  const { ak, privateKey } = makeSoftwareAk('rsapss', 'sha256');
  const pss = (saltLength: number, hash = 'sha256') =>
    sign(hash, nonce, { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
  const accepts = (signature: Buffer) => verifyNonceSignature(ak, nonce, signature);

  it.each([
    ['the digest', 32],
    ['the longest that fits', 222],
  ])('takes a salt as long as %s', async (_name, salt) => {
    await expect(accepts(pss(salt))).resolves.toBe(true);
  });

  it.each<[string, () => Buffer]>([
    ['no salt', () => pss(0)],
    ['a salt of 20 bytes', () => pss(20)],
    ['a salt of 64 bytes', () => pss(64)],
    ['SHA-1', () => pss(20, 'sha1')],
    ['SHA-384', () => pss(48, 'sha384')],
    ['PKCS#1 v1.5', () => sign('sha256', nonce, privateKey)],
    ['a padded signature', () => Buffer.concat([Buffer.alloc(1), pss(32)])],
  ])('refuses %s', async (_name, make) => {
    await expect(accepts(make())).resolves.toBe(false);
  });
});

describe('AES-GCM', () => {
  const key = Buffer.alloc(32, 1);
  const aad = Buffer.from('row');
  const sealed = seal(key, Buffer.from('value'), aad);
  const flip = (bytes: Buffer) => Buffer.from(bytes.map((byte, index) => (index === 0 ? byte ^ 1 : byte)));

  it('opens what it sealed, with a fresh nonce every time', () => {
    expect(open(key, sealed, aad).toString()).toBe('value');
    const nonces = new Set(Array.from({ length: 1000 }, () => seal(key, aad).nonce.toString('hex')));
    expect(nonces.size).toBe(1000);
  });

  it.each([
    ['a flipped tag', { ...sealed, tag: flip(sealed.tag) }],
    ['a tag of 4 bytes', { ...sealed, tag: sealed.tag.subarray(0, 4) }],
    ['a tag of 15 bytes', { ...sealed, tag: sealed.tag.subarray(0, 15) }],
    ['no tag', { ...sealed, tag: Buffer.alloc(0) }],
    ['a flipped nonce', { ...sealed, nonce: flip(sealed.nonce) }],
    ['no nonce', { ...sealed, nonce: Buffer.alloc(0) }],
    ['a nonce of 16 bytes', { ...sealed, nonce: Buffer.alloc(16) }],
    ['a flipped ciphertext', { ...sealed, ciphertext: flip(sealed.ciphertext) }],
    ['a cut ciphertext', { ...sealed, ciphertext: sealed.ciphertext.subarray(1) }],
  ])('refuses %s', (_name, changed) => {
    expect(() => open(key, changed, aad)).toThrow(/cannot be opened/);
  });

  it('refuses another place and another key', () => {
    expect(() => open(key, sealed, Buffer.from('other'))).toThrow(/cannot be opened/);
    expect(() => open(Buffer.alloc(32, 2), sealed, aad)).toThrow(/cannot be opened/);
  });
});
