import type { KeyObject } from 'node:crypto';
import type { Knex } from 'knex';
import { findMachine } from '../../db/broker/machines.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import { AppError } from '../../domain/errors.js';
import { ekUri, operatorUnit } from '../crypto/authority.js';
import { decodeBase64 } from '../crypto/base64.js';
import { extensionOid } from '../crypto/certificate-extensions.js';
import { readGeneralNames } from '../crypto/general-names.js';
import { verifyAsync } from '../crypto/verify.js';
import type { CheckOwnCertificate, CheckedCertificate } from './certificate-check.js';
import { isEnrollable } from './issue-certificate.js';
import { nonceIdOf } from './nonces.js';

export interface EnrollDeps {
  readonly db: Knex;
  readonly checkCertificate: CheckOwnCertificate;
  readonly redeemNonce: (nonceId: string) => Promise<Buffer>;
  readonly requireNonce: boolean;
}

export interface Enrollment {
  readonly certPem: string;
  /** Base64 of an outstanding challenge, or free text of 32 characters and more. */
  readonly nonce: string;
  /** Base64; ECDSA in DER, or PKCS#1 v1.5. */
  readonly nonceSignature: string;
}

const refused = (why: string, cause?: unknown): AppError =>
  new AppError('forbidden', `enrollment refused: ${why}`, { code: 'enrollment_refused', cause });
const leastText = 32;
const uuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/;

/** Checks that the caller holds a living enrollment certificate and its key; changes no state. */
export const createEnroll =
  (deps: EnrollDeps) =>
  async (input: Enrollment): Promise<MachineRecord> => {
    const message = await redeemed(deps, input.nonce);
    const checked = await checkedCertificate(deps, input.certPem);
    const signature = decodeBase64(input.nonceSignature, 'nonce_signature', 2048);
    if (!(await isSignedByHolder(checked.certificate.publicKey, message, signature))) {
      throw refused('the nonce is not signed by the key of the certificate');
    }
    return machineOf(deps.db, checked);
  };

/** What was signed: the 32 bytes of a challenge, which is spent by this, or the text itself where nonces are optional. */
const redeemed = async ({ redeemNonce, requireNonce }: EnrollDeps, nonce: string): Promise<Buffer> => {
  const bytes = Buffer.from(nonce, 'base64');
  const isChallenge = bytes.length === 32 && bytes.toString('base64') === nonce;
  if (isChallenge) {
    try {
      return await redeemNonce(nonceIdOf(bytes));
    } catch (error) {
      const isUnknown = error instanceof AppError && error.kind === 'invalid';
      if (!isUnknown || requireNonce) throw error;
    }
  }
  if (requireNonce)
    throw new AppError('invalid', 'nonce must be an outstanding challenge', { code: 'nonce_unknown' });
  if (nonce.length < leastText)
    throw new AppError('invalid', `nonce must have ${leastText} characters or more`);
  return Buffer.from(nonce, 'utf8');
};

const checkedCertificate = async (deps: EnrollDeps, pem: string): Promise<CheckedCertificate> => {
  try {
    return await deps.checkCertificate(pem);
  } catch (error) {
    if (error instanceof AppError) throw refused(error.message, error);
    throw error;
  }
};

const hashes = new Map([
  ['prime256v1', 'sha256'],
  ['secp384r1', 'sha384'],
  ['secp521r1', 'sha512'],
]);

const isSignedByHolder = async (key: KeyObject, message: Buffer, signature: Buffer): Promise<boolean> => {
  const curve = key.asymmetricKeyDetails?.namedCurve;
  const hash = curve === undefined ? 'sha256' : hashes.get(curve);
  return hash !== undefined && (await verifyAsync(hash, message, key, signature)) === true;
};

const machineOf = async (db: Knex, { certificate, commonName, organizationalUnits }: CheckedCertificate) => {
  if (organizationalUnits.includes(operatorUnit)) throw refused('it is an operator certificate');
  const machine = uuid.test(commonName) ? await findMachine(db, commonName) : undefined;
  if (machine === undefined) throw refused('the machine is unknown');
  const names = certificate.extensions.get(extensionOid.subjectAltName)?.value;
  const wanted = ekUri(machine.ekFingerprint);
  const hasEk =
    names !== undefined &&
    readGeneralNames(names).some((name) => name.kind === 'uri' && name.text === wanted);
  if (!hasEk) throw refused('the certificate is of another EK');
  if (!isEnrollable(machine.status)) throw refused(`the machine is ${machine.status}`);
  return machine;
};
