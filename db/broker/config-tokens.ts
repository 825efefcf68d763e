import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { MachineRecord } from './machines.js';
import { machineColumns } from './machines.js';

/** A config token as it is stored: found by hash, readable with the service key. */
export interface SealedToken {
  /** SHA-256 hex of the token text. */
  readonly sha256: string;
  readonly keyId: string;
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
  readonly tag: Buffer;
}

/** CTE body that stores the token of the machine in CTE `from`; bindings by `tokenBindings`. */
export const insertTokenSql = (from: string): string => `
  insert into config_tokens (token_sha256, machine_id, key_id, nonce, ciphertext, tag)
  select ?, machine_id, ?, ?, ?, ? from ${from}`;

export const tokenBindings = (token: SealedToken): readonly Knex.RawBinding[] => [
  token.sha256,
  token.keyId,
  token.nonce,
  token.ciphertext,
  token.tag,
];

export const findToken = async (db: Knex, sha256: string): Promise<SealedToken | undefined> =>
  (
    await prepared<SealedToken>(
      db,
      'token-by-hash',
      `select token_sha256 as sha256, key_id as "keyId", nonce, ciphertext, tag
       from config_tokens where token_sha256 = ?`,
      [sha256],
    )
  )[0];

const selection = Object.entries(machineColumns)
  .map(([name, column]) => `${column} as "${name}"`)
  .join(', ');

/** The machine that a token was given to, whichever of its tokens it is. `tokenConsumed` speaks of this token. */
export const findMachineByToken = async (db: Knex, sha256: string): Promise<MachineRecord | undefined> =>
  (
    await prepared<MachineRecord>(
      db,
      'machine-by-token',
      `select ${selection}, t.consumed_at is not null as "tokenConsumed"
       from config_tokens t join machines m on m.machine_id = t.machine_id where t.token_sha256 = ?`,
      [sha256],
    )
  )[0];
