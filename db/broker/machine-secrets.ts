import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { SealedRow, SealedValue } from './sealed.js';
import { fromSealedRow, sealedColumns, toSealedRow } from './sealed.js';
import type { EventToPublish } from './webhook-messages.js';
import { publishBindings, publishSql } from './webhook-messages.js';

/** A machine's secret without its value. Times are ISO 8601 UTC. */
export interface MachineSecretRecord {
  readonly secretId: string;
  readonly machineId: string;
  readonly name: string;
  readonly version: number;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string | null;
  readonly lastAccessedAt: string | null;
  readonly accessCount: number;
}

const columns = {
  secretId: 'secret_id',
  machineId: 'machine_id',
  name: 'name',
  version: 'version',
  createdAt: 'created_at',
  createdBy: 'created_by',
  expiresAt: 'expires_at',
  lastAccessedAt: 'last_accessed_at',
  accessCount: 'access_count',
} as const satisfies Record<keyof MachineSecretRecord, string>;

const aliased = Object.entries(columns).map(([name, column]) => `${column} as ${name}`);

export type NewMachineSecret = Pick<
  MachineSecretRecord,
  'secretId' | 'machineId' | 'name' | 'createdBy' | 'expiresAt'
> & { readonly sealed: SealedValue };

/** Undefined when the machine has a secret of that name; one that has expired gives way. */
export const insertMachineSecret = async (
  trx: Knex,
  secret: NewMachineSecret,
): Promise<MachineSecretRecord | undefined> => {
  await trx('machine_secrets')
    .where({ machine_id: secret.machineId, name: secret.name })
    .where('expires_at', '<=', trx.fn.now())
    .delete();
  const rows: unknown[] = await trx('machine_secrets')
    .insert({
      secret_id: secret.secretId,
      machine_id: secret.machineId,
      name: secret.name,
      created_by: secret.createdBy,
      expires_at: secret.expiresAt,
      ...toSealedRow(secret.sealed),
    })
    .onConflict(['machine_id', 'name'])
    .ignore()
    .returning(aliased);
  return rows[0] as MachineSecretRecord | undefined;
};

export const listMachineSecrets = async (
  db: Knex,
  machineId: string,
): Promise<readonly MachineSecretRecord[]> =>
  (await db('machine_secrets')
    .select(columns)
    .where({ machine_id: machineId })
    .orderBy('name')) as MachineSecretRecord[];

export const findMachineSecret = async (
  db: Knex,
  secretId: string,
): Promise<MachineSecretRecord | undefined> =>
  (await db('machine_secrets').first(columns).where({ secret_id: secretId })) as
    MachineSecretRecord | undefined;

/** Replaces the value, with `version` only if that is still the version; undefined when it is not. */
export const replaceMachineSecret = async (
  trx: Knex,
  secretId: string,
  version: number | undefined,
  next: { readonly sealed: SealedValue; readonly expiresAt: string | null },
): Promise<MachineSecretRecord | undefined> => {
  const rows: unknown[] = await trx('machine_secrets')
    .where({ secret_id: secretId, ...(version === undefined ? {} : { version }) })
    .update({ ...toSealedRow(next.sealed), version: trx.raw('version + 1'), expires_at: next.expiresAt })
    .returning(aliased);
  return rows[0] as MachineSecretRecord | undefined;
};

export const deleteMachineSecret = async (
  trx: Knex,
  secretId: string,
): Promise<MachineSecretRecord | undefined> => {
  const rows: unknown[] = await trx('machine_secrets')
    .where({ secret_id: secretId })
    .delete()
    .returning(aliased);
  return rows[0] as MachineSecretRecord | undefined;
};

/** One read of a value, and the event that it causes. */
export interface SecretRead {
  readonly machineId: string;
  readonly name: string;
  readonly sourceAddress: string | null;
  readonly event: EventToPublish;
}

/** Reads a value for its machine, counts the access, logs and tells it in one statement; undefined when there is none. */
export const readMachineSecret = async (
  db: Knex,
  read: SecretRead,
): Promise<{ readonly secretId: string; readonly sealed: SealedValue } | undefined> => {
  const [row] = await prepared<SealedRow & { secretId: string }>(
    db,
    'read-machine-secret',
    `with read as (
       update machine_secrets set access_count = access_count + 1, last_accessed_at = now()
       where machine_id = ? and name = ? and (expires_at is null or expires_at > now())
       returning secret_id, machine_id, ${sealedColumns.join(', ')}
     ), logged as (
       insert into secret_access_log (kind, action, secret_id, machine_id, actor, source_address)
       select 'machine', 'read', secret_id, machine_id, machine_id::text, ? from read
     )
     select secret_id as "secretId", ${sealedColumns.join(', ')},
       (select count(*) from ${publishSql}) as told from read`,
    [...[read.machineId, read.name, read.sourceAddress], ...publishBindings(read.event)] as Knex.RawBinding[],
  );
  return row === undefined ? undefined : { secretId: row.secretId, sealed: fromSealedRow(row) };
};
