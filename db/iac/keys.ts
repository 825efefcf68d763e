import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { StackName } from '../../domain/iac/names.js';

/** A stack's AES key, sealed by the service key named `masterKeyId`. */
export interface StackKey {
  readonly stackId: string;
  readonly version: number;
  readonly masterKeyId: string;
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly ciphertext: Buffer;
}

const TABLE = 'extension_iac_state_keys';

/** The stack of that name, or of that former name, and its keys, newest first; `undefined` = no such stack. */
export const findStackKeys = async (
  db: Knex,
  { org, project, stack }: StackName,
): Promise<{ readonly stackId: string; readonly keys: readonly StackKey[] } | undefined> => {
  const rows = await prepared<{ stackId: string; version: number | null }>(
    db,
    'iac-stack-keys',
    `with named as (
       select id, 0 as former from extension_iac_state_stacks
        where org = ? and project = ? and name = ? and deleted_at is null
       union all
       select n.stack_id, 1 from extension_iac_state_former_names n
         join extension_iac_state_stacks s on s.id = n.stack_id and s.deleted_at is null
        where n.org = ? and n.project = ? and n.name = ?
       order by former limit 1)
     select named.id as "stackId", k.version, k.master_key_id as "masterKeyId", k.nonce, k.tag, k.ciphertext
       from named left join ${TABLE} k on k.stack_id = named.id order by k.version desc`,
    [org, project, stack, org, project, stack],
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  return { stackId: first.stackId, keys: rows.filter((row): row is StackKey => row.version !== null) };
};

/** False when that version exists already: somebody else was first. */
export const insertStackKey = async (db: Knex, key: StackKey): Promise<boolean> => {
  const inserted = await db(TABLE)
    .insert({
      stack_id: key.stackId,
      version: key.version,
      master_key_id: key.masterKeyId,
      nonce: key.nonce,
      tag: key.tag,
      ciphertext: key.ciphertext,
    })
    .onConflict(['stack_id', 'version'])
    .ignore()
    .returning('version');
  return inserted.length > 0;
};
