import { createHash, generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { EkSource } from '../../../activities/crypto/ek.js';
import {
  loadStoredEk,
  matchesFingerprint,
  parseEkMaterial,
  storedEk,
} from '../../../activities/crypto/ek.js';
import { tpmName } from '../../../activities/crypto/tpm-name.js';
import { fromBase64, tpmVectors } from '../../support/tpm-vectors.js';

const { rsa, ecc } = tpmVectors.eks;
const der = fromBase64(rsa.cert_der_b64);
const pem = (bytes: Buffer, label: string, newline = '\n') =>
  [
    `-----BEGIN ${label}-----`,
    ...(bytes.toString('base64').match(/.{1,64}/g) ?? []),
    `-----END ${label}-----`,
    '',
  ].join(newline);
const b64 = (value: string | Buffer) => Buffer.from(value).toString('base64');
const sha = (name: string, bytes: Buffer) => createHash(name).update(bytes).digest('hex');
const tcg = (bytes: Buffer) => {
  const header = Buffer.from([0x10, 0x01, 0x00, 0, 0]);
  header.writeUInt16BE(bytes.length, 3);
  return Buffer.concat([header, bytes]);
};

describe('EK certificates', () => {
  it.each(Object.entries({ rsa, ecc }))('%s: fingerprints, key hash and template Name', (_kind, vector) => {
    const ek = parseEkMaterial(vector.cert_der_b64, 'cert');
    expect(ek.fingerprintSha384).toBe(vector.sha384_der);
    expect(ek.fingerprintSha256).toBe(vector.sha256_der);
    expect(ek.spkiSha384).toBe(vector.sha384_spki);
    expect(tpmName(ek.area).toString('hex')).toBe(vector.name_hex);
    expect(ek.area.bytes).toEqual(new Uint8Array(fromBase64(vector.ek_public_tpm2b_b64).subarray(2)));
  });

  it.each([
    ['PEM', Buffer.from(pem(der, 'CERTIFICATE'))],
    ['PEM with CRLF', Buffer.from(pem(der, 'CERTIFICATE', '\r\n'))],
    ['PEM followed by its issuer', Buffer.from(pem(der, 'CERTIFICATE') + tpmVectors.ca.issuer_pem)],
    ['NV area padded with zeros', Buffer.concat([der, Buffer.alloc(600)])],
    ['NV area padded with FF', Buffer.concat([der, Buffer.alloc(600, 0xff)])],
    ['TCG header', tcg(der)],
    ['TCG header around padding', Buffer.concat([tcg(der), Buffer.alloc(64, 0xff)])],
  ])('%s is the same machine', (_form, sent) => {
    const ek = parseEkMaterial(b64(sent), 'cert');
    expect(ek.fingerprintSha384).toBe(rsa.sha384_der);
    for (const bytes of [sent, der]) {
      expect(matchesFingerprint(ek, sha('sha384', bytes))).toBe(true);
      expect(matchesFingerprint(ek, sha('sha256', bytes))).toBe(true);
    }
    expect(matchesFingerprint(ek, 'f'.repeat(96))).toBe(false);
    expect(matchesFingerprint(ek, 'f'.repeat(64))).toBe(false);
    expect(matchesFingerprint(ek, ek.spkiSha384)).toBe(false);
    expect(storedEk(ek)).toBe(rsa.cert_der_b64);
  });

  it.each<[string, string, EkSource]>([
    ['the platform certificate, which has the same key', tpmVectors.platform_cert_der_b64, 'cert'],
    ['a CA certificate', b64(tpmVectors.ca.issuer_pem), 'cert'],
    ['a public key sent as certificate', rsa.spki_der_b64, 'cert'],
    ['a certificate sent as public key', rsa.cert_der_b64, 'pub'],
    ['nothing', '', 'cert'],
    ['random bytes', b64(Buffer.alloc(500, 7)), 'cert'],
    [
      'another line break in base64',
      `${rsa.cert_der_b64.slice(0, 76)}\n${rsa.cert_der_b64.slice(76)}`,
      'cert',
    ],
    ['base64 without padding', b64(pem(der, 'CERTIFICATE')).replace(/=+$/, ''), 'cert'],
    ['url-safe base64', rsa.cert_der_b64.replaceAll('/', '_').replaceAll('+', '-'), 'cert'],
    ['trailing bytes that are no padding', b64(Buffer.concat([der, Buffer.from('x')])), 'cert'],
    ['mixed padding', b64(Buffer.concat([der, Buffer.from([0, 0xff])])), 'cert'],
    ['a truncated certificate', b64(der.subarray(0, der.length - 1)), 'cert'],
    ['text before the PEM block', b64(`comment\n${pem(der, 'CERTIFICATE')}`), 'cert'],
    ['a private key label', b64(pem(der, 'PRIVATE KEY')), 'cert'],
    [
      'a TCG header that claims too much',
      b64(Buffer.concat([Buffer.from([16, 1, 0, 0xff, 0xff]), der])),
      'cert',
    ],
    ['more than 8 KiB', b64(Buffer.alloc(8193, 0x30)), 'cert'],
  ])('refuses %s', (_what, base64, source) => {
    expect(() => parseEkMaterial(base64, source)).toThrow(
      expect.objectContaining({ name: 'AppError', kind: 'invalid' }),
    );
  });

  it('names the platform certificate trap and dates', () => {
    expect(() => parseEkMaterial(tpmVectors.platform_cert_der_b64, 'cert')).toThrow('platform certificate');
    const early = { now: new Date('2001-01-01') };
    expect(() => parseEkMaterial(rsa.cert_der_b64, 'cert', early)).toThrow('not valid yet');
  });
});

describe('EK public keys', () => {
  it.each(Object.entries({ rsa, ecc }))('%s: SPKI and TPM2B_PUBLIC are one machine', (_kind, vector) => {
    const spki = fromBase64(vector.spki_der_b64);
    const fingerprint = sha('sha384', spki);
    for (const sent of [spki, Buffer.from(pem(spki, 'PUBLIC KEY')), fromBase64(vector.ek_public_tpm2b_b64)]) {
      const ek = parseEkMaterial(b64(sent), 'pub');
      expect(ek.fingerprintSha384).toBe(fingerprint);
      expect(ek.spkiSha384).toBe(vector.sha384_spki);
      expect(storedEk(ek)).toBe(vector.spki_der_b64);
    }
  });

  it.each([
    ['RSA of 1024 bits', generateKeyPairSync('rsa', { modulusLength: 1024 })],
    ['RSA with exponent 3', generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 })],
    ['an RSA-PSS key', generateKeyPairSync('rsa-pss', { modulusLength: 2048 })],
    ['Ed25519', generateKeyPairSync('ed25519')],
    ['secp256k1', generateKeyPairSync('ec', { namedCurve: 'secp256k1' })],
    [
      'P-256 with explicit parameters',
      generateKeyPairSync('ec', { namedCurve: 'prime256v1', paramEncoding: 'explicit' }),
    ],
  ])('refuses %s', (_what, pair) => {
    const spki = pair.publicKey.export({ type: 'spki', format: 'der' });
    expect(() => parseEkMaterial(b64(spki), 'pub')).toThrow(
      expect.objectContaining({ name: 'AppError', kind: 'invalid' }),
    );
  });

  it('a compressed point is the same key', () => {
    const spki = fromBase64(ecc.spki_der_b64);
    const point = spki.subarray(-97);
    const compressed = Buffer.concat([Buffer.from([2 + ((point[96] ?? 0) & 1)]), point.subarray(1, 49)]);
    const header = Buffer.from(spki.subarray(0, spki.length - 97));
    header[1] = header.length - 2 + compressed.length;
    header[header.length - 2] = compressed.length + 1;
    const ek = parseEkMaterial(b64(Buffer.concat([header, compressed])), 'pub');
    expect(ek.spkiSha384).toBe(ecc.sha384_spki);
  });
});

it('a stored EK is loaded with the public area of its standard template', () => {
  expect(tpmName(loadStoredEk(rsa.cert_der_b64, 'cert').area).toString('hex')).toBe(rsa.name_hex);
  expect(tpmName(loadStoredEk(ecc.spki_der_b64, 'pub').area).toString('hex')).toBe(ecc.name_hex);
  const other = fromBase64(ecc.ek_public_tpm2b_b64);
  expect(() => loadStoredEk(rsa.cert_der_b64, 'cert', other)).toThrow('another key');
});
