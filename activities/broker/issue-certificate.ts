import { createPublicKey, generateKeyPair } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { Knex } from 'knex';
import { lockMachine } from '../../db/broker/approvals.js';
import { hasLiveCertificate, insertCertificate } from '../../db/broker/certificates.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import { addToOutbox } from '../../db/outbox.js';
import type { Clock } from '../../domain/clock.js';
import { AppError } from '../../domain/errors.js';
import type { Authority, Issued } from '../crypto/authority.js';
import { issueMachineCertificate } from '../crypto/authority.js';
import { machineNotFound } from './acts.js';

const generate = promisify(generateKeyPair);

export interface IssueDeps {
  readonly db: Knex;
  readonly authority: Authority;
  readonly clock: Clock;
  /** SVC_ENROLLMENT_CERT_DAYS. */
  readonly certDays: number;
}

const mayEnroll = new Set<string>(['registered', 'attested']);

export const refusedStatus = (status: string): AppError =>
  new AppError('forbidden', `a machine that is ${status} gets no certificate`, {
    code: 'machine_not_enrollable',
  });

export const isEnrollable = (status: string): boolean => mayEnroll.has(status);

/**
 * Issues a machine certificate. Status, row and the event of a renewal are one transaction under the machine's row lock,
 * so a certificate that was given out is on record, and none is given to a machine that is revoked meanwhile.
 */
export const issueForMachine = (
  { db, authority, clock, certDays }: IssueDeps,
  machine: MachineRecord,
  publicKey: KeyObject,
  issuedBy: string,
): Promise<Issued> =>
  db.transaction(async (trx) => {
    const { machineId, role, ekFingerprint } = machine;
    const status = await lockMachine(trx, machineId);
    if (status === undefined) throw machineNotFound(machineId);
    if (!isEnrollable(status)) throw refusedStatus(status);
    const isRenewal = await hasLiveCertificate(trx, machineId);
    const subject = { machineId, role, ekFingerprint, publicKey };
    const issued = await issueMachineCertificate(authority, subject, certDays, clock.now());
    const { serial, notAfter } = issued;
    await insertCertificate(trx, { serial, machineId, commonName: machineId, notAfter, issuedBy });
    if (isRenewal) await tellRenewal(trx, machine, serial);
    return issued;
  });

const tellRenewal = (trx: Knex, machine: MachineRecord, serial: string): Promise<void> => {
  const { machineId, ekFingerprint, role, status, hostname, attestedAt, isoUrl } = machine;
  const { hwUuid, hwMac, hwSerial, hwProduct } = machine;
  const snapshot = { machineId, ekFingerprint, role, status, hostname, attestedAt, isoUrl };
  const payload = {
    event: 'node.cert_renewed',
    machine: { ...snapshot, hwUuid, hwMac, hwSerial, hwProduct },
    meta: { serial },
  };
  return addToOutbox(trx, [{ topic: 'event', key: machineId, payload }]);
};

/** A fresh P-384 key pair, made off the event loop. */
export const newEnrollmentKey = async (): Promise<{
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}> => {
  const { privateKey } = await generate('ec', { namedCurve: 'secp384r1' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
};

export const privateKeyPem = (key: KeyObject): string =>
  key.export({ type: 'pkcs8', format: 'pem' }).toString();
