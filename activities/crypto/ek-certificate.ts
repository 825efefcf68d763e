import type { TpmKey } from '../../domain/broker/tpm/public-area.js';
import { AppError } from '../../domain/errors.js';
import type { Certificate } from './certificate.js';
import type { KeyUsageName } from './certificate-extensions.js';
import { basicConstraints, extendedKeyUsage, keyUsage } from './certificate-extensions.js';

/** tcg-kp-EKCertificate and tcg-kp-PlatformAttributeCertificate (TCG EK credential profile, 3.2). */
export const ekPurpose = '2.23.133.8.1';
const platformPurpose = '2.23.133.8.2';

const refused = (why: string, code: string): AppError =>
  new AppError('invalid', `EK certificate is not acceptable: ${why}`, { code });

/**
 * What makes a certificate an *EK* certificate. A platform certificate carries the same public key and chains to the
 * same CA; without the purpose check one TPM would become two machines.
 */
export const requireEkProfile = (certificate: Certificate, key: TpmKey): void => {
  const purposes = extendedKeyUsage(certificate) ?? [];
  if (purposes.includes(platformPurpose))
    throw refused('it is a platform certificate', 'ek_platform_certificate');
  if (!purposes.includes(ekPurpose)) throw refused(`extended key usage lacks ${ekPurpose}`, 'ek_purpose');
  const needed: KeyUsageName = key.kind === 'rsa' ? 'keyEncipherment' : 'keyAgreement';
  const usage = keyUsage(certificate);
  if (usage !== undefined && !usage.has(needed)) throw refused(`key usage lacks ${needed}`, 'ek_key_usage');
  if (basicConstraints(certificate)?.ca === true) throw refused('it is a CA certificate', 'ek_is_ca');
};

export const requireValidNow = (certificate: Certificate, now: Date): void => {
  if (now < certificate.notBefore) throw refused('it is not valid yet', 'ek_not_yet_valid');
  if (now > certificate.notAfter) throw refused('it has expired', 'ek_expired');
};
