import { count, flag, secret, text } from './env.js';

/** Trust in TPMs and the enrollment CA. */
export const attestationSettings = {
  SVC_TPM_VERIFY_CA: flag(false, 'Accept EK certificates of trusted TPM makers only.'),
  SVC_TPM_CA_BUNDLE_DIR: text(
    '/var/lib/svc-reg/ca-bundles',
    'Folder of PEM or DER roots and intermediates of TPM makers.',
  ),
  SVC_ATTEST_FAILURE_THRESHOLD: count(
    5,
    'Quotes in a row that break an enforced PCR policy before the machine is locked; 0 = never.',
    0,
    1000,
  ),
  SVC_ENROLLMENT_CA_DIR: text(
    '/var/lib/svc-reg/ca/',
    'Folder of the enrollment CA, made on first start; gateways of one service share it.',
  ),
  SVC_ENROLLMENT_CA_PASSPHRASE: secret('Encrypts the CA key file; unset = plain PKCS#8 of mode 0600.'),
  SVC_ENROLLMENT_CERT_DAYS: count(30, 'Days that machine certificates are valid.', 1, 3650),
  SVC_OPERATOR_CERT_DAYS: count(365, 'Days that operator certificates are valid.', 1, 3650),
};
