/** One row of the tamper-evident log. Times are ISO 8601 UTC with microseconds. */
export interface AuditEntry {
  readonly id: number;
  readonly timestamp: string;
  readonly operatorCn: string;
  readonly action: AuditAction;
  readonly machineId: string | null;
  readonly prevState: string | null;
  readonly newState: string | null;
  readonly detail: string | null;
  readonly prevHash: string;
  readonly entryHash: string;
}

export const auditActions = [
  'approve',
  'approve_vote',
  'revoke',
  'lock',
  'unlock',
  'offline_bundle',
  'import',
  'reject',
  'wipe_complete',
  'operator_cert',
  'rewrap',
  'pcr_policy',
  'ak_replace',
  'secret_create',
  'secret_update',
  'secret_delete',
  'grant',
  'grant_revoke',
  'webhook_create',
  'webhook_update',
  'webhook_delete',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** Where an act came from; kept beside the chain, not in it. */
export interface ActContext {
  readonly requestId: string | null;
  readonly sourceAddress: string | null;
  /** `jwt`, `certificate`, `break_glass`, `node` or `system`. */
  readonly method: string;
}

/** An act to be logged; hashes, id and time are given by the log. */
export interface AuditAct {
  readonly action: AuditAction;
  readonly operatorCn: string;
  readonly machineId: string | null;
  readonly prevState: string | null;
  readonly newState: string | null;
  readonly detail: string | null;
  readonly context: ActContext;
}

/** `prev_hash` of the first row. */
export const GENESIS_HASH = '0'.repeat(64);

const PLAIN = /^[ !#-[\]-~]*$/;

/** A JSON string in ASCII, as Python's `json.dumps` writes it. Nearly all text is plain and needs no escape. */
const jsonText = (text: string | null): string => {
  if (text === null) return 'null';
  if (PLAIN.test(text)) return `"${text}"`;
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
};

/** `2026-01-31T12:00:00.000500+00:00` -> `2026-01-31T12:00:00.000500`; a fraction of exactly zero is left out. */
export const auditTimestamp = (iso: string): string => {
  const [whole = '', fraction = ''] = iso.replace(/(\+00:00|Z)$/, '').split('.');
  return Number(fraction) === 0 ? whole : `${whole}.${fraction.padEnd(6, '0')}`;
};

/**
 * What `entry_hash` is the SHA-256 of (UTF-8): JSON of eight fields with sorted keys, no spaces, non-ASCII as
 * `\uXXXX`, nulls kept; the time in UTC without offset.
 */
export const canonicalAuditRow = (row: Omit<AuditEntry, 'id' | 'entryHash'>): string =>
  `{"action":${jsonText(row.action)},"detail":${jsonText(row.detail)},"machine_id":${jsonText(row.machineId)}` +
  `,"new_state":${jsonText(row.newState)},"operator_cn":${jsonText(row.operatorCn)}` +
  `,"prev_hash":${jsonText(row.prevHash)},"prev_state":${jsonText(row.prevState)}` +
  `,"timestamp":${jsonText(auditTimestamp(row.timestamp))}}`;

/** What `GET /api/v1/audit/verify` tells. */
export interface ChainVerdict {
  readonly valid: boolean;
  readonly entries: number;
  readonly rootHash: string | null;
  readonly firstInvalidId: number | null;
  readonly error: string | null;
}

export interface ChainCheck {
  /** Takes the next row in id order; false once the chain is broken. */
  readonly add: (row: AuditEntry) => boolean;
  readonly verdict: () => ChainVerdict;
}

/** A head that was seen earlier: the chain must still have that row, with that hash. */
export interface KnownHead {
  readonly size: number;
  readonly rootHash: string;
}

/** Checks a chain row by row in constant memory, against a known head too when there is one. `sha256Hex` hashes UTF-8 text. */
export const createChainCheck = (sha256Hex: (text: string) => string, known?: KnownHead): ChainCheck => {
  let entries = 0;
  let previous = GENESIS_HASH;
  let broken: { readonly id: number; readonly error: string } | undefined;

  const problem = (row: AuditEntry): string | undefined => {
    if (row.id !== entries + 1) return `row ${entries + 1} is missing before entry id=${row.id}`;
    if (row.prevHash !== previous) return `prev_hash mismatch at entry id=${row.id}`;
    if (row.entryHash !== sha256Hex(canonicalAuditRow(row)))
      return `entry_hash mismatch at entry id=${row.id}`;
    if (row.id === known?.size && row.entryHash !== known.rootHash) {
      return `entry id=${row.id} is not the one of the checkpoint: the log was rewritten`;
    }
    return undefined;
  };

  return {
    add: (row) => {
      if (broken === undefined) {
        const error = problem(row);
        if (error !== undefined) broken = { id: row.id, error };
      }
      entries += 1;
      previous = row.entryHash;
      return broken === undefined;
    },
    verdict: () => {
      if (known !== undefined && entries < known.size) {
        broken ??= {
          id: entries + 1,
          error: `the log ends at entry id=${entries}, the checkpoint knows ${known.size}: rows were cut off`,
        };
      }
      return {
        valid: broken === undefined,
        entries,
        rootHash: broken === undefined && entries > 0 ? previous : null,
        firstInvalidId: broken?.id ?? null,
        error: broken?.error ?? null,
      };
    },
  };
};
