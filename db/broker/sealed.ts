/** A value sealed by AES-256-GCM under the key named by `keyId`, as it lies in a row. */
export interface SealedValue {
  readonly keyId: string;
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly ciphertext: Buffer;
}

export interface SealedRow {
  readonly encrypted_value: Buffer;
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly encryption_key_id: string;
}

export const sealedColumns = ['encrypted_value', 'nonce', 'tag', 'encryption_key_id'] as const;

export const toSealedRow = (value: SealedValue): SealedRow => ({
  encrypted_value: value.ciphertext,
  nonce: value.nonce,
  tag: value.tag,
  encryption_key_id: value.keyId,
});

export const fromSealedRow = (row: SealedRow): SealedValue => ({
  ciphertext: row.encrypted_value,
  nonce: row.nonce,
  tag: row.tag,
  keyId: row.encryption_key_id,
});
