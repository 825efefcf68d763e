import type { Knex } from 'knex';
import { prepared } from '../connect.js';

export interface NewCertificate {
  /** Lower-case hex. */
  readonly serial: string;
  /** Null for an operator's certificate. */
  readonly machineId: string | null;
  readonly commonName: string;
  readonly notAfter: Date;
  readonly issuedBy: string;
}

/** Records a certificate before it is given out. */
export const insertCertificate = async (db: Knex, certificate: NewCertificate): Promise<void> => {
  await db('certificates').insert({
    serial: certificate.serial,
    kind: certificate.machineId === null ? 'operator' : 'machine',
    machine_id: certificate.machineId,
    common_name: certificate.commonName,
    not_after: certificate.notAfter,
    issued_by: certificate.issuedBy,
  });
};

/** Whether the machine holds a certificate that has not run out: the next one is a renewal. */
export const hasLiveCertificate = async (db: Knex, machineId: string): Promise<boolean> => {
  const rows = await prepared(
    db,
    'live-certificate',
    'select serial from certificates where machine_id = ? and not_after > now() and revoked_at is null limit 1',
    [machineId],
  );
  return rows.length > 0;
};

/** A certificate dies with its own revocation, or with the revocation or rejection of its machine. */
const dead = `(c.revoked_at is not null or coalesce(m.status in ('revoked', 'rejected'), false))`;

/** Whether a certificate was issued here and is not revoked. */
export const isCertificateGood = async (db: Knex, serial: string): Promise<boolean> => {
  const rows = await prepared(
    db,
    'certificate-good',
    `select c.serial from certificates c left join machines m using (machine_id)
     where c.serial = ? and not ${dead}`,
    [serial],
  );
  return rows.length > 0;
};

export interface RevokedCertificate {
  readonly serial: string;
  /** ISO 8601. */
  readonly revokedAt: string;
}

/** Everything revoked that has not run out yet. */
export const listRevoked = (db: Knex): Promise<readonly RevokedCertificate[]> =>
  prepared<RevokedCertificate>(
    db,
    'revoked-certificates',
    `select c.serial, coalesce(c.revoked_at, m.revoked_at, c.issued_at) as "revokedAt"
     from certificates c left join machines m using (machine_id)
     where c.not_after > now() and ${dead} order by c.serial`,
    [],
  );
