import type { ApprovalRequest } from '../../../db/broker/approvals.js';
import type { MachineTrust } from '../../../db/broker/attestation-keys.js';
import type { MachineRecord } from '../../../db/broker/machines.js';
import type { ApprovalOutcome } from '../../../domain/broker/approval.js';
import { VOTES_REQUIRED } from '../../../domain/broker/approval.js';
import type { Machine } from '../../../domain/broker/machine.js';
import { presentTrust } from './attestation.js';

export const presentListEntry = (m: Machine) => ({
  machine_id: m.machineId,
  ek_fingerprint: m.ekFingerprint,
  hw_uuid: m.hwUuid,
  hw_mac: m.hwMac,
  hw_serial: m.hwSerial,
  hw_product: m.hwProduct,
  role: m.role,
  status: m.status,
  hostname: m.hostname,
  assigned_ip: m.assignedIp,
  registered_at: m.registeredAt,
  attested_at: m.attestedAt,
  locked_at: m.lockedAt,
  revoked_at: m.revokedAt,
  wipe_pending: m.wipePending,
});

/** MachineDetail: the list entry and what only one machine's page needs; never a token. */
export const presentMachine = (m: MachineRecord, trust: MachineTrust) => ({
  ...presentListEntry(m),
  ek_fingerprint_sha384: m.ekFingerprintSha384,
  ek_source: m.ekSource,
  iso_url: m.isoUrl,
  token_consumed: m.tokenConsumed,
  wipe_told_at: m.wipeToldAt,
  wipe_completed_at: m.wipeCompletedAt,
  ...presentTrust(trust),
});

export const presentPending = (
  machineId: string,
  outcome: Extract<ApprovalOutcome, { kind: 'pending' }>,
) => ({
  machine_id: machineId,
  status: 'pending_second_approval',
  message: 'First approval recorded; another operator must approve the same proposal before the window ends.',
  approvals_received: outcome.votes,
  approvals_required: VOTES_REQUIRED,
  expires_at: outcome.expiresAt,
});

export const presentApproval = (vote: ApprovalRequest) => ({
  id: vote.id,
  machine_id: vote.machineId,
  operator_cn: vote.operatorCn,
  role: vote.role,
  hostname: vote.hostname,
  assigned_ip: vote.assignedIp,
  created_at: vote.createdAt,
  expires_at: vote.expiresAt,
  consumed: vote.consumed,
});
