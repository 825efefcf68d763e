import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const YEARS = 5;

export interface LocalTls {
  /** PEM of the local authority: what a client must trust. */
  readonly caFile: string;
  readonly cert: string;
  readonly key: string;
}

/** Authority and server certificate for 127.0.0.1 and localhost, made once and kept in `dir`. */
export const localTls = async (dir: string): Promise<LocalTls> => {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const files = { ca: join(dir, 'ca.pem'), cert: join(dir, 'server.pem'), key: join(dir, 'server-key.pem') };
  if (!existsSync(files.key)) {
    const made = await issue();
    writeFileSync(files.ca, made.ca);
    writeFileSync(files.cert, made.cert);
    writeFileSync(files.key, made.key, { mode: 0o600 });
  }
  return { caFile: files.ca, cert: readFileSync(files.cert, 'utf8'), key: readFileSync(files.key, 'utf8') };
};

const newKeys = () => webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);

const issue = async (): Promise<{ ca: string; cert: string; key: string }> => {
  const [caKeys, serverKeys] = await Promise.all([newKeys(), newKeys()]);
  const now = new Date();
  const validity = {
    notBefore: new Date(now.getTime() - 3_600_000),
    notAfter: new Date(now.getTime() + YEARS * 31_536_000_000),
  };
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    name: 'CN=Keystead local cloud',
    keys: caKeys as never,
    signingAlgorithm: ALGORITHM,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    ],
  });
  const cert = await x509.X509CertificateGenerator.create({
    subject: 'CN=localhost',
    issuer: ca.subject,
    publicKey: serverKeys.publicKey as never,
    signingKey: caKeys.privateKey as never,
    signingAlgorithm: ALGORITHM,
    ...validity,
    extensions: [
      new x509.SubjectAlternativeNameExtension([
        { type: 'dns', value: 'localhost' },
        { type: 'ip', value: '127.0.0.1' },
      ]),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    ],
  });
  const der = await webcrypto.subtle.exportKey('pkcs8', serverKeys.privateKey);
  return {
    ca: ca.toString('pem'),
    cert: cert.toString('pem'),
    key: x509.PemConverter.encode(der, 'PRIVATE KEY'),
  };
};
