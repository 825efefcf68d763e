import type { Knex } from 'knex';
import { prepared } from '../connect.js';

export interface GrantRecord {
  readonly sharedSecretId: string;
  readonly machineId: string;
  readonly grantedAt: string;
  readonly grantedBy: string;
  readonly lastAccessedAt: string | null;
  readonly accessCount: number;
}

const columns = {
  sharedSecretId: 'shared_secret_id',
  machineId: 'machine_id',
  grantedAt: 'granted_at',
  grantedBy: 'granted_by',
  lastAccessedAt: 'last_accessed_at',
  accessCount: 'access_count',
} as const satisfies Record<keyof GrantRecord, string>;

/** Grants access to those of the machines that exist and have none yet; returns how many are new. */
export const insertGrants = async (
  trx: Knex,
  sharedSecretId: string,
  machineIds: readonly string[],
  grantedBy: string,
): Promise<number> => {
  const rows = await prepared(
    trx,
    'insert-secret-grants',
    `with granted as (
       insert into shared_secret_grants (shared_secret_id, machine_id, granted_by)
       select ?, machine_id, ? from machines where machine_id = any(?::uuid[])
       on conflict do nothing returning shared_secret_id, machine_id
     )
     insert into secret_access_log (kind, action, secret_id, machine_id, actor)
     select 'shared', 'grant', shared_secret_id, machine_id, ? from granted returning id`,
    [sharedSecretId, grantedBy, machineIds as string[], grantedBy],
  );
  return rows.length;
};

/** Ids among `machineIds` that no machine has. */
export const unknownMachines = async (
  db: Knex,
  machineIds: readonly string[],
): Promise<readonly string[]> => {
  const known = new Set(await db('machines').whereIn('machine_id', machineIds).pluck<string[]>('machine_id'));
  return machineIds.filter((id) => !known.has(id));
};

/** Takes grants back; returns how many there were. */
export const deleteGrants = async (
  trx: Knex,
  sharedSecretId: string,
  machineIds: readonly string[],
  revokedBy: string,
): Promise<number> => {
  const rows = await prepared(
    trx,
    'delete-secret-grants',
    `with revoked as (
       delete from shared_secret_grants where shared_secret_id = ? and machine_id = any(?::uuid[])
       returning shared_secret_id, machine_id
     )
     insert into secret_access_log (kind, action, secret_id, machine_id, actor)
     select 'shared', 'grant_revoke', shared_secret_id, machine_id, ? from revoked returning id`,
    [sharedSecretId, machineIds as string[], revokedBy],
  );
  return rows.length;
};

export const listGrants = async (db: Knex, sharedSecretId: string): Promise<readonly GrantRecord[]> =>
  (await db('shared_secret_grants')
    .select(columns)
    .where({ shared_secret_id: sharedSecretId })
    .orderBy('granted_at')
    .orderBy('machine_id')) as GrantRecord[];

/** Notes the end of a secret in the access log. */
export const logSecretDeleted = async (
  trx: Knex,
  entry: {
    readonly kind: 'machine' | 'shared';
    readonly secretId: string;
    readonly machineId: string | null;
    readonly actor: string;
    readonly sourceAddress: string | null;
  },
): Promise<void> => {
  await trx('secret_access_log').insert({
    kind: entry.kind,
    action: 'delete',
    secret_id: entry.secretId,
    machine_id: entry.machineId,
    actor: entry.actor,
    source_address: entry.sourceAddress,
  });
};
