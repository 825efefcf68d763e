import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Authority } from './authority.js';
import {
  authorityKeyExtension,
  buildCertificate,
  caExtension,
  distinguishedName,
  keyUsageExtension,
  randomSerial,
  subjectKeyExtension,
} from './certificate-build.js';
import { parseCertificate } from './certificate.js';
import { onlyPemBlock, toPem } from './pem.js';
import { spkiOf } from './tpm-key.js';

/**
 * The enrollment CA on disk: `enrollment-ca.key` (0600 from its first byte) and `enrollment-ca.crt`. Created once; the
 * caller's lock keeps processes that start together apart.
 */
export interface AuthorityFiles {
  readonly dir: string;
  /** Encrypts the key file (PKCS#8, AES-256). */
  readonly passphrase?: string | undefined;
  readonly crlUrl: string;
}
export type Lock = <T>(work: () => Promise<T>) => Promise<T>;

const keyFile = 'enrollment-ca.key';
const certificateFile = 'enrollment-ca.crt';
const years = 10;
const generate = promisify(generateKeyPair);

/** Loads the CA, or creates it when neither file is there. Throws when it cannot be used as it is. */
export const loadOrCreateAuthority = (files: AuthorityFiles, lock: Lock, now: Date): Promise<Authority> =>
  lock(async () => {
    await mkdir(files.dir, { recursive: true, mode: 0o700 });
    const key = await readKey(files);
    const certificate = await readIfThere(join(files.dir, certificateFile));
    if (key === undefined && certificate !== undefined) {
      throw new Error(
        `${certificateFile} is there without ${keyFile}: restore the key, or remove both for a new CA`,
      );
    }
    const signer = key ?? (await createKey(files));
    const pem = certificate?.toString('utf8') ?? (await createCertificate(files, signer, now));
    return assemble(pem, signer, files.crlUrl);
  });

const assemble = (pem: string, key: KeyObject, crlUrl: string): Authority => {
  const certificate = parseCertificate(onlyPemBlock(pem, 'CERTIFICATE', certificateFile));
  if (!spkiOf(certificate.publicKey).equals(spkiOf(createPublicKey(key)))) {
    throw new Error(`${keyFile} is not the key of ${certificateFile}`);
  }
  return { certificate, key, pem, crlUrl };
};

const readIfThere = async (path: string): Promise<Buffer | undefined> => {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

const readKey = async (files: AuthorityFiles): Promise<KeyObject | undefined> => {
  const path = join(files.dir, keyFile);
  const pem = await readIfThere(path);
  if (pem === undefined) return undefined;
  const { mode } = await stat(path);
  if ((mode & 0o077) !== 0) {
    throw new Error(`${keyFile} may be read by others (mode ${(mode & 0o777).toString(8)}): chmod 600 it`);
  }
  try {
    return createPrivateKey({ key: pem, ...passphraseOf(files) });
  } catch (cause) {
    throw new Error(`${keyFile} cannot be read: wrong passphrase, or not a private key`, { cause });
  }
};

const passphraseOf = ({ passphrase }: AuthorityFiles) => (passphrase === undefined ? {} : { passphrase });

const createKey = async (files: AuthorityFiles): Promise<KeyObject> => {
  const { privateKey } = await generate('ec', { namedCurve: 'secp384r1' });
  const encryption = files.passphrase === undefined ? {} : { cipher: 'aes-256-cbc', ...passphraseOf(files) };
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem', ...encryption });
  await writeWhole(join(files.dir, keyFile), pem.toString(), 0o600);
  return privateKey;
};

/** Also mends a first start that died between the two files: the key gets its certificate. */
const createCertificate = async (files: AuthorityFiles, key: KeyObject, now: Date): Promise<string> => {
  const name = distinguishedName(['cn', 'Keystead enrollment CA']);
  const spki = spkiOf(createPublicKey(key));
  const notBefore = new Date(Math.floor(now.getTime() / 1000) * 1000);
  const notAfter = new Date(notBefore);
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + years);
  const extensions = [
    caExtension(0),
    keyUsageExtension(['digitalSignature', 'keyCertSign', 'cRLSign']),
    subjectKeyExtension(spki),
    authorityKeyExtension(spki),
  ];
  const parts = {
    serial: randomSerial(),
    issuer: name,
    subject: name,
    notBefore,
    notAfter,
    spki,
    extensions,
  };
  const pem = toPem('CERTIFICATE', await buildCertificate(parts, key));
  await writeWhole(join(files.dir, certificateFile), pem, 0o644);
  return pem;
};

/** Appears whole or not at all, with its final mode from the first byte. */
const writeWhole = async (path: string, text: string, mode: number): Promise<void> => {
  const draft = `${path}.${process.pid}.new`;
  const file = await open(draft, 'w', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await chmod(draft, mode);
  await rename(draft, path);
};
