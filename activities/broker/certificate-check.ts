import type { Knex } from 'knex';
import { isCertificateGood } from '../../db/broker/certificates.js';
import type { Clock } from '../../domain/clock.js';
import { AppError } from '../../domain/errors.js';
import type { Authority } from '../crypto/authority.js';
import { clientAuth } from '../crypto/authority.js';
import type { Certificate } from '../crypto/certificate.js';
import { parseCertificate } from '../crypto/certificate.js';
import { verifyChain } from '../crypto/chain.js';
import { attributeValues } from '../crypto/general-names.js';
import { onlyPemBlock } from '../crypto/pem.js';

const commonNameType = '2.5.4.3';
const unitType = '2.5.4.11';

export interface CheckedCertificate {
  readonly certificate: Certificate;
  readonly commonName: string;
  readonly organizationalUnits: readonly string[];
}

/** Judges a PEM certificate of the enrollment CA; throws `invalid` or `forbidden` with the reason. */
export type CheckOwnCertificate = (pem: string) => Promise<CheckedCertificate>;

/** Chain, dates, purpose, and that the serial is one we issued and have not revoked. */
export const createOwnCertificateCheck =
  (db: Knex, authority: Authority, clock: Clock): CheckOwnCertificate =>
  async (pem) => {
    const certificate = parseCertificate(onlyPemBlock(pem, 'CERTIFICATE', 'certificate'));
    const roots = [authority.certificate];
    await verifyChain({ leaf: certificate, intermediates: [], roots, at: clock.now(), purpose: clientAuth });
    if (!(await isCertificateGood(db, certificate.serial))) {
      throw new AppError('forbidden', 'the certificate is revoked', { code: 'certificate_revoked' });
    }
    const [commonName, ...others] = attributeValues(certificate.subject, commonNameType);
    if (commonName === undefined || others.length > 0)
      throw new AppError('invalid', 'the certificate has no one CN');
    return { certificate, commonName, organizationalUnits: attributeValues(certificate.subject, unitType) };
  };

/** The same for a login: undefined when the certificate does not hold now. */
export const createClientCertificateCheck =
  (check: CheckOwnCertificate) =>
  async (pem: string): Promise<CheckedCertificate | undefined> => {
    try {
      return await check(pem);
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  };
