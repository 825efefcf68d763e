import type { ActivatedAk, ActivationChallenge } from '../../../activities/broker/ak-activate.js';
import type { AkRecord, MachineTrust } from '../../../db/broker/attestation-keys.js';
import type { StoredPcrPolicy } from '../../../db/broker/pcr-policies.js';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

export const presentChallenge = (challenge: ActivationChallenge) => ({
  activation_id: challenge.activationId,
  credential_blob: base64(challenge.credentialBlob),
  encrypted_secret: base64(challenge.encryptedSecret),
  expires_at: challenge.expiresAt,
});

export const presentActivated = (activated: ActivatedAk) => ({
  machine_id: activated.machineId,
  ak_pub: activated.akPub,
  activated_at: activated.activatedAt,
});

/** What the quotes of a machine have shown; null until it has an AK. */
const presentObservations = (ak: AkRecord | undefined) =>
  ak === undefined
    ? null
    : {
        ak_name: ak.akName.toString('hex'),
        ak_activated_at: ak.activatedAt,
        quoted_at: ak.quotedAt,
        reset_count: ak.resetCount,
        restart_count: ak.restartCount,
        clock_ms: ak.clockMs === null ? null : Number(ak.clockMs),
        clock_safe: ak.safe,
        firmware_version: ak.firmwareVersion,
        last_reset_at: ak.lastResetAt,
        counters_fell_at: ak.countersFellAt,
        policy_failures: ak.policyFailures,
        policy_breach: ak.policyBreach,
      };

export const presentTrust = ({ ak, ekRoot }: MachineTrust) => ({
  ak_pub: ak?.akPub ?? null,
  ek_root: ekRoot,
  attestation: presentObservations(ak),
});

export const presentPcrPolicy = (policy: StoredPcrPolicy) => ({
  role: policy.role,
  bank: policy.bank,
  pcrs: policy.pcrs,
  mode: policy.mode,
  updated_at: policy.updatedAt,
  updated_by: policy.updatedBy,
});
