/** The head of the audit chain at one moment: kept outside, it shows later that rows were cut off or rewritten. */
export interface AuditHead {
  /** Rows in the chain. */
  readonly size: number;
  /** `entry_hash` of the last row, hex; 64 zeros for an empty chain. */
  readonly rootHash: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
}

export const CHECKPOINT_ORIGIN = 'keystead/audit';

/**
 * The signed text of a checkpoint: origin, size and base64 hash as C2SP `tlog-checkpoint` has them, then the time as an
 * extension line. The hash is that of the chain's last row, not of a Merkle tree.
 */
export const checkpointText = (
  { size, rootHash, timestamp }: AuditHead,
  toBase64: (hex: string) => string,
): string => `${CHECKPOINT_ORIGIN}\n${size}\n${toBase64(rootHash)}\ntime ${timestamp}\n`;
