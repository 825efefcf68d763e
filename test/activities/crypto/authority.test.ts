import { execFile } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { chmod, mkdtemp, readdir, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  clientAuth,
  issueCrl,
  issueMachineCertificate,
  issueOperatorCertificate,
} from '../../../activities/crypto/authority.js';
import type { Lock } from '../../../activities/crypto/authority-store.js';
import { loadOrCreateAuthority } from '../../../activities/crypto/authority-store.js';
import {
  basicConstraints,
  extendedKeyUsage,
  extensionOid,
  keyUsage,
} from '../../../activities/crypto/certificate-extensions.js';
import { parseCertificate } from '../../../activities/crypto/certificate.js';
import { verifyChain } from '../../../activities/crypto/chain.js';
import { readCsr } from '../../../activities/crypto/csr.js';
import { toPem } from '../../../activities/crypto/pem.js';

const run = promisify(execFile);
const now = new Date();
const crlUrl = 'http://broker.test/api/v1/ca/crl';
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'keystead-ca-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** One lock for all callers, as the database gives it. */
const createLock = (): Lock => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(work);
    last = mine.catch(() => undefined);
    return mine;
  };
};
const load = (more: { passphrase?: string } = {}, lock = createLock()) =>
  loadOrCreateAuthority({ dir: join(dir, 'ca'), crlUrl, ...more }, lock, now);
const file = (name: string) => join(dir, 'ca', name);

describe('the CA on disk', () => {
  it('is P-384 for ten years, with closed modes, and the same one next time', async () => {
    const made = await load();
    const { certificate } = made;
    expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe('secp384r1');
    expect(certificate.notAfter.getUTCFullYear() - certificate.notBefore.getUTCFullYear()).toBe(10);
    expect(basicConstraints(certificate)).toEqual({ ca: true, pathLength: 0 });
    expect((await stat(file('enrollment-ca.key'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(dir, 'ca'))).mode & 0o777).toBe(0o700);
    expect((await load()).pem).toBe(made.pem);
    expect((await readdir(join(dir, 'ca'))).sort()).toEqual(['enrollment-ca.crt', 'enrollment-ca.key']);
  });

  it('is one, whatever number of processes start together', async () => {
    const lock = createLock();
    const all = await Promise.all(Array.from({ length: 8 }, () => load({}, lock)));
    expect(new Set(all.map(({ pem }) => pem)).size).toBe(1);
  });

  it('refuses a key that others may read', async () => {
    await load();
    await chmod(file('enrollment-ca.key'), 0o640);
    await expect(load()).rejects.toThrow(/mode 640/);
  });

  it('a start that died between key and certificate is finished with the same key', async () => {
    const first = await load();
    await unlink(file('enrollment-ca.crt'));
    expect((await load()).certificate.spki).toEqual(first.certificate.spki);
  });

  it('a certificate without its key stops the start, as does a foreign key; removing both makes a new CA', async () => {
    const first = await load();
    await unlink(file('enrollment-ca.key'));
    await expect(load()).rejects.toThrow(/restore the key/);
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
    await writeFile(file('enrollment-ca.key'), privateKey.export({ type: 'pkcs8', format: 'pem' }), {
      mode: 0o600,
    });
    await expect(load()).rejects.toThrow(/not the key of/);
    await unlink(file('enrollment-ca.key'));
    await unlink(file('enrollment-ca.crt'));
    expect((await load()).pem).not.toBe(first.pem);
  });

  it('may be encrypted; then it needs the passphrase', async () => {
    const made = await load({ passphrase: 'correct horse' });
    expect((await load({ passphrase: 'correct horse' })).pem).toBe(made.pem);
    await expect(load({ passphrase: 'wrong' })).rejects.toThrow(/passphrase/);
    await expect(load()).rejects.toThrow(/passphrase/);
  });

  it('an existing RSA CA is loaded and signs', async () => {
    await load();
    const subject = ['-subj', '/CN=old', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
    const files = ['-keyout', file('enrollment-ca.key'), '-out', file('enrollment-ca.crt')];
    await run('openssl', [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '30',
      ...subject,
      ...files,
    ]);
    await chmod(file('enrollment-ca.key'), 0o600);
    const authority = await load();
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
    const at = new Date(); // openssl dates the CA from the moment it ran
    const issued = await issueOperatorCertificate(authority, 'ann', publicKey, 1, at);
    const leaf = parseCertificate(issued.der);
    const chain = { leaf, intermediates: [], roots: [authority.certificate], at, purpose: clientAuth };
    await expect(verifyChain(chain)).resolves.toHaveLength(2);
  });
});

describe('certificates', () => {
  const machine = {
    machineId: '7d1c0a4e-0d43-4c36-8f0e-5b8b5f3f4a11',
    role: 'worker-app',
    ekFingerprint: 'ab'.repeat(48),
  } as const;

  it('a machine certificate has exactly the profile, in the eyes of openssl too', async () => {
    const authority = await load();
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
    const issued = await issueMachineCertificate(authority, { ...machine, publicKey }, 30, now);
    const certificate = parseCertificate(issued.der);
    expect(certificate.view.subject).toBe(`OU=worker-app\nCN=${machine.machineId}`);
    expect([...(keyUsage(certificate) ?? [])]).toEqual(['digitalSignature', 'keyEncipherment']);
    expect(extendedKeyUsage(certificate)).toEqual([clientAuth]);
    expect(new X509Certificate(issued.pem).subjectAltName).toBe(`URI:urn:svc:ek:${machine.ekFingerprint}`);
    expect(basicConstraints(certificate)).toEqual({ ca: false, pathLength: undefined });
    expect([...certificate.extensions.keys()].sort()).toEqual(
      [
        extensionOid.authorityKeyId,
        extensionOid.basicConstraints,
        extensionOid.crlDistributionPoints,
        extensionOid.extendedKeyUsage,
        extensionOid.keyUsage,
        extensionOid.subjectAltName,
        extensionOid.subjectKeyId,
      ].sort(),
    );
    expect(issued.serial).toMatch(/^[4-7][0-9a-f]{31}$/);
    const days = (issued.notAfter.getTime() - now.getTime()) / 86_400_000;
    expect(Math.round(days)).toBe(30);
    await writeFile(file('leaf.pem'), issued.pem);
    const verified = await run('openssl', [
      'verify',
      '-x509_strict',
      '-purpose',
      'sslclient',
      '-CAfile',
      file('enrollment-ca.crt'),
      file('leaf.pem'),
    ]);
    expect(verified.stdout).toContain('OK');
    const { stdout } = await run('openssl', ['x509', '-in', file('leaf.pem'), '-noout', '-text']);
    expect(stdout).toContain(`URI:${crlUrl}`);
  });

  it('never outlives the CA', async () => {
    const authority = await load();
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
    const issued = await issueMachineCertificate(authority, { ...machine, publicKey }, 36_500, now);
    expect(issued.notAfter).toEqual(authority.certificate.notAfter);
  });

  it('openssl believes the revocation list', async () => {
    const authority = await load();
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
    const [good, bad] = await Promise.all(
      [1, 2].map(() => issueOperatorCertificate(authority, 'ann', publicKey, 1, now)),
    );
    const crl = await issueCrl(authority, [{ serial: bad!.serial, revokedAt: now }], now);
    await writeFile(file('crl.pem'), toPem('X509 CRL', crl));
    const check = async (pem: string) => {
      await writeFile(file('leaf.pem'), pem);
      const args = [
        '-crl_check',
        '-CRLfile',
        file('crl.pem'),
        '-CAfile',
        file('enrollment-ca.crt'),
        file('leaf.pem'),
      ];
      return run('openssl', ['verify', ...args]);
    };
    expect((await check(good!.pem)).stdout).toContain('OK');
    await expect(check(bad!.pem)).rejects.toThrow(/revoked/);
  });
});

describe('certificate requests', () => {
  const request = async (newKey: readonly string[], ...more: string[]): Promise<string> => {
    const args = [
      'req',
      '-new',
      '-nodes',
      '-keyout',
      join(dir, 'k.pem'),
      '-subj',
      '/OU=operator/CN=root',
      ...newKey,
      ...more,
    ];
    return (await run('openssl', args)).stdout;
  };
  const p384 = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'];

  it.each([p384, ['-newkey', 'rsa:2048']])('gives the key of a signed request: %p', async (...newKey) => {
    const pem = await request(newKey.flat());
    const { stdout } = await run('openssl', ['pkey', '-in', join(dir, 'k.pem'), '-pubout']);
    expect((await readCsr(pem)).equals(createPublicKey(stdout))).toBe(true);
  });

  it('refuses SHA-1, a weak key, a changed request and other text', async () => {
    await expect(request(p384, '-sha1').then(readCsr)).rejects.toThrow(/not signed/);
    await expect(request(['-newkey', 'rsa:1024']).then(readCsr)).rejects.toThrow(/RSA of 1024/);
    const good = await request(p384);
    const der = Buffer.from(good.replace(/-----.*-----|\n/g, ''), 'base64');
    der[30] = (der[30] ?? 0) ^ 1;
    await expect(readCsr(toPem('CERTIFICATE REQUEST', der))).rejects.toThrow();
    await expect(readCsr(`${good}${good}`)).rejects.toThrow(/one PEM block/);
    await expect(readCsr('')).rejects.toThrow(/one PEM block/);
  });
});
