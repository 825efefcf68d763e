import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { SealedRow, SealedValue } from './sealed.js';
import { fromSealedRow, sealedColumns, toSealedRow } from './sealed.js';
import type { SecretRead } from './machine-secrets.js';
import { publishBindings, publishSql } from './webhook-messages.js';

/** A shared secret without its value. Times are ISO 8601 UTC. */
export interface SharedSecretRecord {
  readonly sharedSecretId: string;
  readonly name: string;
  readonly encryptionKeyId: string;
  readonly version: number;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly lastRotatedAt: string | null;
  readonly expiresAt: string | null;
  readonly description: string | null;
  readonly lastAccessedAt: string | null;
  readonly accessCount: number;
  readonly authorizedMachineCount: number;
}

const columns = {
  sharedSecretId: 's.shared_secret_id',
  name: 's.name',
  encryptionKeyId: 's.encryption_key_id',
  version: 's.version',
  createdAt: 's.created_at',
  createdBy: 's.created_by',
  lastRotatedAt: 's.last_rotated_at',
  expiresAt: 's.expires_at',
  description: 's.description',
  lastAccessedAt: 's.last_accessed_at',
  accessCount: 's.access_count',
} as const satisfies Record<Exclude<keyof SharedSecretRecord, 'authorizedMachineCount'>, string>;

const selected = (db: Knex): Knex.QueryBuilder =>
  db('shared_secrets as s').select(columns, {
    authorizedMachineCount: db('shared_secret_grants as g')
      .count()
      .whereRaw('g.shared_secret_id = s.shared_secret_id'),
  });

export type NewSharedSecret = Pick<
  SharedSecretRecord,
  'sharedSecretId' | 'name' | 'createdBy' | 'description' | 'expiresAt'
> & { readonly sealed: SealedValue };

/** False when the name is taken; a secret that has expired gives way. */
export const insertSharedSecret = async (trx: Knex, secret: NewSharedSecret): Promise<boolean> => {
  await trx('shared_secrets').where({ name: secret.name }).where('expires_at', '<=', trx.fn.now()).delete();
  const rows: unknown[] = await trx('shared_secrets')
    .insert({
      shared_secret_id: secret.sharedSecretId,
      name: secret.name,
      created_by: secret.createdBy,
      description: secret.description,
      expires_at: secret.expiresAt,
      ...toSealedRow(secret.sealed),
    })
    .onConflict('name')
    .ignore()
    .returning('shared_secret_id');
  return rows.length > 0;
};

export const findSharedSecret = async (db: Knex, id: string): Promise<SharedSecretRecord | undefined> =>
  (await selected(db).where({ 's.shared_secret_id': id }).first()) as SharedSecretRecord | undefined;

/** Newest first. */
export const listSharedSecrets = async (db: Knex): Promise<readonly SharedSecretRecord[]> =>
  (await selected(db).orderBy('s.created_at', 'desc').orderBy('s.shared_secret_id')) as SharedSecretRecord[];

export interface SharedSecretChange {
  readonly sealed?: SealedValue | undefined;
  readonly description?: string | undefined;
  readonly expiresAt?: string | null | undefined;
}

/** Writes a change, with `version` only if that is still the version; a new value moves it. */
export const updateSharedSecret = async (
  trx: Knex,
  id: string,
  version: number | undefined,
  change: SharedSecretChange,
): Promise<boolean> =>
  (await trx('shared_secrets')
    .where({ shared_secret_id: id, ...(version === undefined ? {} : { version }) })
    .update({
      version: trx.raw('version + ?', [change.sealed === undefined ? 0 : 1]),
      ...(change.sealed === undefined
        ? {}
        : { ...toSealedRow(change.sealed), last_rotated_at: trx.fn.now() }),
      ...(change.description === undefined ? {} : { description: change.description }),
      ...(change.expiresAt === undefined ? {} : { expires_at: change.expiresAt }),
    })) > 0;

/** Grants first, in the order in which a read locks them. */
export const deleteSharedSecret = async (trx: Knex, id: string): Promise<boolean> => {
  await trx('shared_secret_grants').where({ shared_secret_id: id }).delete();
  return (await trx('shared_secrets').where({ shared_secret_id: id }).delete()) > 0;
};

export type SharedRead =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'not-granted' }
  | {
      readonly kind: 'read';
      readonly sharedSecretId: string;
      readonly sealed: SealedValue;
      /** ISO 8601 UTC. */
      readonly accessedAt: string;
    };

/** Reads a value for a machine that holds a grant, counts the access on both, logs and tells it, in one statement. */
export const readSharedSecret = async (db: Knex, read: SecretRead): Promise<SharedRead> => {
  const [row] = await prepared<
    SealedRow & { known: boolean; sharedSecretId: string | null; accessedAt: string }
  >(
    db,
    'read-shared-secret',
    `with grant_used as (
       update shared_secret_grants g set access_count = g.access_count + 1, last_accessed_at = now()
       from shared_secrets s
       where g.machine_id = ? and g.shared_secret_id = s.shared_secret_id and s.name = ?
         and (s.expires_at is null or s.expires_at > now())
       returning g.shared_secret_id, g.machine_id
     ), read as (
       update shared_secrets s set access_count = s.access_count + 1, last_accessed_at = now()
       from grant_used u where s.shared_secret_id = u.shared_secret_id
       returning s.shared_secret_id, ${sealedColumns.map((c) => `s.${c}`).join(', ')}
     ), logged as (
       insert into secret_access_log (kind, action, secret_id, machine_id, actor, source_address)
       select 'shared', 'read', shared_secret_id, machine_id, machine_id::text, ? from grant_used
     )
     select exists (select 1 from shared_secrets
                    where name = ? and (expires_at is null or expires_at > now())) as known,
       case when r.shared_secret_id is not null then (select count(*) from ${publishSql}) end as told,
       r.shared_secret_id as "sharedSecretId", now() as "accessedAt", ${sealedColumns.map((c) => `r.${c}`).join(', ')}
     from (select 1) one left join read r on true`,
    [
      ...[read.machineId, read.name, read.sourceAddress, read.name],
      ...publishBindings(read.event),
    ] as Knex.RawBinding[],
  );
  if (row === undefined || !row.known) return { kind: 'unknown' };
  if (row.sharedSecretId === null) return { kind: 'not-granted' };
  return {
    kind: 'read',
    sharedSecretId: row.sharedSecretId,
    sealed: fromSealedRow(row),
    accessedAt: row.accessedAt,
  };
};
