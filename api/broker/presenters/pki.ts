import type { ImportedMachine } from '../../../activities/broker/import-machine.js';
import type { OfflineBundle } from '../../../activities/broker/offline-bundle.js';
import type { IssuedEnrollment } from '../../../activities/broker/request-cert.js';
import type { MachineRecord } from '../../../db/broker/machines.js';

export const presentEnrolled = ({ machineId, role, status }: MachineRecord) => ({
  valid: true,
  machine_id: machineId,
  role,
  status,
});

const keyNote = ({ keyPem, wrappedKey }: IssuedEnrollment): string => {
  if (keyPem !== null) return 'The private key is in this answer: keep it from others.';
  return wrappedKey === null
    ? 'The private key never left the node.'
    : 'The private key (PKCS#8 DER) is wrapped by RSA-OAEP with SHA-256 for wrapping_key_pem.';
};

/** Exactly one of the key fields is filled, or neither when the node made the key. */
export const presentIssued = (issued: IssuedEnrollment) => ({
  machine_id: issued.machine.machineId,
  role: issued.machine.role,
  enrollment_cert_pem: issued.certificatePem,
  enrollment_ca_pem: issued.caPem,
  enrollment_key_pem: issued.keyPem ?? '',
  enrollment_key_encrypted_b64: issued.wrappedKey?.toString('base64') ?? '',
  valid_days: issued.validDays,
  message: keyNote(issued),
});

export const presentOperatorCertificate = (
  issued: { readonly pem: string; readonly serial: string; readonly notAfter: Date },
  caPem: string,
) => ({
  certificate_pem: issued.pem,
  ca_pem: caPem,
  serial: issued.serial,
  not_after: issued.notAfter.toISOString(),
});

export const presentImported = ({ machine, isNew, configUrl }: ImportedMachine) => ({
  machine_id: machine.machineId,
  role: machine.role,
  status: machine.status,
  config_url: configUrl,
  message: isNew ? 'Imported.' : 'This EK is known already; nothing was changed.',
});

export const presentBundle = (bundle: OfflineBundle) => ({
  machine_id: bundle.machine.machineId,
  role: bundle.machine.role,
  status: bundle.machine.status,
  ek_fingerprint: bundle.machine.ekFingerprint,
  hostname: bundle.machine.hostname,
  assigned_ip: bundle.machine.assignedIp,
  iso_url: bundle.machine.isoUrl,
  config_token: bundle.configToken,
  config_url: bundle.configUrl,
  machineconfig: bundle.machineConfig,
  enrollment_cert_pem: bundle.certificatePem,
  enrollment_key_pem: bundle.keyPem,
  install_mode: 'offline',
  built_at: bundle.builtAt.toISOString(),
});
