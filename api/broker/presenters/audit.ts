import type { SignedCheckpoint } from '../../../activities/broker/audit-checkpoint.js';
import type { AuditEntry, ChainVerdict } from '../../../domain/broker/audit.js';

export const presentAuditEntry = (entry: AuditEntry) => ({
  id: entry.id,
  timestamp: entry.timestamp,
  operator_cn: entry.operatorCn,
  action: entry.action,
  machine_id: entry.machineId,
  prev_state: entry.prevState,
  new_state: entry.newState,
  detail: entry.detail,
  prev_hash: entry.prevHash,
  entry_hash: entry.entryHash,
});

export const presentVerdict = (verdict: ChainVerdict) => ({
  valid: verdict.valid,
  entries: verdict.entries,
  root_hash: verdict.rootHash,
  first_invalid_id: verdict.firstInvalidId,
  error: verdict.error,
});

export const presentCheckpoint = (checkpoint: SignedCheckpoint) => ({
  size: checkpoint.size,
  root_hash: checkpoint.rootHash,
  timestamp: checkpoint.timestamp,
  note: checkpoint.note,
  verifier_key: checkpoint.verifierKey,
});
