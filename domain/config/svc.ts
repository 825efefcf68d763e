import type { Settings } from './env.js';
import { attestationSettings } from './attestation.js';
import { brokerSettings } from './broker.js';
import { iacSettings } from './iac.js';
import { vaultSettings } from './vault.js';
import { webhookSettings } from './webhook.js';

/** All `SVC_` settings: the gateway and the workers parse the same set, so an unknown `SVC_` name is a typo in both. */
export const svcSettings = {
  ...brokerSettings,
  ...attestationSettings,
  ...vaultSettings,
  ...webhookSettings,
  ...iacSettings,
};

export type SvcConfig = Settings<typeof svcSettings>;

/** High assurance switches on what is optional otherwise: signed nonces and encrypted delivery. */
export const hardened = (config: SvcConfig): SvcConfig =>
  config.SVC_HIGH_ASSURANCE
    ? { ...config, SVC_REQUIRE_NONCE: true, SVC_REQUIRE_ENCRYPTED_DELIVERY: true }
    : config;
