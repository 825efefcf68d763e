import type { SealedSecret } from '../../../activities/broker/machine-secrets.js';
import type { SharedValue } from '../../../activities/broker/shared-secrets.js';
import type { MachineSecretRecord } from '../../../db/broker/machine-secrets.js';
import type { GrantRecord } from '../../../db/broker/secret-grants.js';
import type { SharedSecretRecord } from '../../../db/broker/shared-secrets.js';
import { presentEnvelope } from './envelope.js';

const GCM_TAG_BYTES = 16;

export const presentMachineSecret = (s: MachineSecretRecord) => ({
  secret_id: s.secretId,
  machine_id: s.machineId,
  name: s.name,
  version: s.version,
  created_at: s.createdAt,
  created_by: s.createdBy,
  expires_at: s.expiresAt,
  last_accessed_at: s.lastAccessedAt,
  access_count: s.accessCount,
});

/** The blob is the envelope's ciphertext with nonce and tag apart; its key is in the envelope. */
export const presentSealedSecret = ({ secretId, name, envelope }: SealedSecret) => {
  const ciphertext = Buffer.from(envelope.ciphertext);
  return {
    secret_id: secretId,
    name,
    encrypted_blob: ciphertext.subarray(0, -GCM_TAG_BYTES).toString('base64'),
    nonce: Buffer.from(envelope.iv).toString('base64'),
    tag: ciphertext.subarray(-GCM_TAG_BYTES).toString('base64'),
    envelope: presentEnvelope(envelope),
  };
};

export const presentSharedSecret = (s: SharedSecretRecord) => ({
  shared_secret_id: s.sharedSecretId,
  name: s.name,
  encryption_key_id: s.encryptionKeyId,
  version: s.version,
  created_at: s.createdAt,
  created_by: s.createdBy,
  last_rotated_at: s.lastRotatedAt,
  expires_at: s.expiresAt,
  description: s.description,
  last_accessed_at: s.lastAccessedAt,
  access_count: s.accessCount,
  authorized_machine_count: s.authorizedMachineCount,
});

export const presentSharedValue = (read: SharedValue) => ({
  name: read.name,
  accessed_at: read.accessedAt,
  ...(read.kind === 'plain' ? { value: read.value } : { envelope: presentEnvelope(read.envelope) }),
});

export const presentGrant = (g: GrantRecord) => ({
  shared_secret_id: g.sharedSecretId,
  machine_id: g.machineId,
  granted_at: g.grantedAt,
  granted_by: g.grantedBy,
  last_accessed_at: g.lastAccessedAt,
  access_count: g.accessCount,
});
