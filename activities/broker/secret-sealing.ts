import type { KeyScope } from '../crypto/key-ring.js';

/** Where a sealed value belongs: the key's scope, and the additional data that ties it to its row. */
export interface SecretPlace {
  readonly scope: KeyScope;
  readonly aad: string;
}

/** Key of a machine's secret: HKDF over the master key with the EK fingerprint as salt (docs/secrets.md). */
export const machineSecretPlace = (secret: {
  readonly secretId: string;
  readonly machineId: string;
  readonly name: string;
  /** Hex. */
  readonly ekFingerprint: string;
}): SecretPlace => ({
  scope: {
    purpose: 'svc/machine-secret/v1',
    salt: Buffer.from(secret.ekFingerprint, 'hex'),
    context: [secret.machineId, secret.name],
  },
  aad: [secret.secretId, secret.machineId, secret.name].join('\0'),
});

export const sharedSecretPlace = (sharedSecretId: string, name: string): SecretPlace => ({
  scope: { purpose: 'svc/shared-secret/v1', context: [sharedSecretId] },
  aad: [sharedSecretId, name].join('\0'),
});

export const webhookSecretPlace = (webhookId: string, secretId: string): SecretPlace => ({
  scope: { purpose: 'svc/webhook-secret/v1', context: [webhookId] },
  aad: secretId,
});
