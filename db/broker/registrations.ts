import type { Knex } from 'knex';
import type { HardwareIdentity } from '../../domain/broker/machine.js';
import { AppError } from '../../domain/errors.js';
import { prepared } from '../connect.js';
import type { ActToLog, ChangeMessage } from './change-sql.js';
import { auditBindings, auditSql, queueSql } from './change-sql.js';
import type { SealedToken } from './config-tokens.js';
import { insertTokenSql, tokenBindings } from './config-tokens.js';
import type { MachineRecord, NewMachine } from './machines.js';
import { changedSelection, machineSelection, machineSource } from './machines.js';

const insertSql = `
  insert into machines (machine_id, ek_fingerprint, ek_fingerprint_sha384, ek_spki_sha384, ek_source, ek_cert_pem,
    hw_uuid, hw_mac, hw_serial, hw_product, role, status, iso_url, config_token_sha256, ek_public, ek_root)
  select ?::uuid, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?::bytea, ?
  where not exists (select 1 from machines where ek_fingerprint = any(?) or ek_spki_sha384 = any(?))
  on conflict do nothing returning *`;

const ATTEMPTS = 8;

export interface Creation {
  readonly machine: NewMachine;
  /** All fingerprints that would mean the same machine. */
  readonly fingerprints: readonly string[];
  readonly token?: SealedToken;
  readonly messages: readonly ChangeMessage[];
  readonly act?: ActToLog;
}

/** Creates the machine unless its EK is known. `isNew` is false when the record was there already (it is returned as it is). */
export const createMachine = async (
  db: Knex,
  creation: Creation,
): Promise<{ readonly isNew: boolean; readonly machine: MachineRecord }> => {
  const { machine, token, act } = creation;
  const sql = `
    with changed as (${insertSql})
    ${token === undefined ? '' : `, token as (${insertTokenSql('changed')})`}
    , queued as (${queueSql('changed')})
    select ${changedSelection('c')}, false as "tokenConsumed", true as "isNew",
      ${act === undefined ? 'null' : auditSql('null', 'c.status')} as "auditId"
    from changed c
    union all
    select ${machineSelection}, false, null from ${machineSource}
    where (m.ek_fingerprint = any(?) or m.ek_spki_sha384 = any(?)) and not exists (select 1 from changed)
    limit 1`;
  const fingerprints = creation.fingerprints as string[];
  const bindings = [
    ...[
      machine.machineId,
      machine.ekFingerprint,
      machine.ekFingerprint,
      machine.ekSpkiSha384,
      machine.ekSource,
    ],
    ...[machine.ekCertPem, machine.hwUuid, machine.hwMac, machine.hwSerial, machine.hwProduct, machine.role],
    ...[machine.status, machine.isoUrl, token?.sha256 ?? null, machine.ekPublic, machine.ekRoot],
    ...[fingerprints, fingerprints],
    ...(token === undefined ? [] : tokenBindings(token)),
    JSON.stringify(creation.messages),
    ...(act === undefined ? [] : auditBindings(act)),
    ...[fingerprints, fingerprints],
  ] as Knex.RawBinding[];
  const name = `create-machine:${token === undefined ? '' : 'token'}:${act === undefined ? '' : 'act'}`;
  // A row that a concurrent request committed after our snapshot is invisible to this statement, not to the next.
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const [row] = await prepared<MachineRecord & { isNew: boolean }>(db, name, sql, bindings);
    if (row !== undefined) return { isNew: row.isNew, machine: row };
  }
  throw new AppError('conflict', 'the machine was created or removed meanwhile; try again');
};

/** A known machine registers again: fresh token, hardware identity and image as told, everything else as it was. */
export const refreshRegistration = async (
  db: Knex,
  refresh: {
    readonly machineId: string;
    readonly hardware: HardwareIdentity;
    readonly isoUrl: string | null;
    readonly token: SealedToken;
  },
): Promise<MachineRecord | undefined> => {
  const { hardware, token } = refresh;
  const rows = await prepared<MachineRecord>(
    db,
    'refresh-registration',
    `with changed as (
       update machines set hw_uuid = ?, hw_mac = ?, hw_serial = ?, hw_product = ?, iso_url = coalesce(iso_url, ?),
         config_token_sha256 = ?
       where machine_id = ? and status in ('pending_approval', 'registered', 'attested')
       returning *
     ), token as (${insertTokenSql('changed')})
     select ${changedSelection('c')}, false as "tokenConsumed" from changed c`,
    [
      ...[hardware.hwUuid, hardware.hwMac, hardware.hwSerial, hardware.hwProduct, refresh.isoUrl],
      ...[token.sha256, refresh.machineId],
      ...tokenBindings(token),
    ] as Knex.RawBinding[],
  );
  return rows[0];
};

/** A token whose key is lost gives way to a fresh one. */
export const replaceToken = async (
  db: Knex,
  machineId: string,
  lost: string,
  token: SealedToken,
): Promise<void> => {
  await prepared(
    db,
    'replace-token',
    `with changed as (
       update machines set config_token_sha256 = ? where machine_id = ? and config_token_sha256 = ? returning machine_id
     ) ${insertTokenSql('changed')}`,
    [token.sha256, machineId, lost, ...tokenBindings(token)],
  );
};

/** An older row found by its SHA-256 fingerprint, or one without material, takes the canonical form. */
export const fillIdentity = (
  db: Knex,
  machineId: string,
  identity: { readonly ekFingerprint: string; readonly ekCertPem: string; readonly ekSpkiSha384: string },
): PromiseLike<number> =>
  db('machines')
    .where({ machine_id: machineId })
    .update({
      ek_fingerprint: identity.ekFingerprint,
      ek_fingerprint_sha384: identity.ekFingerprint,
      ek_spki_sha384: identity.ekSpkiSha384,
      ek_cert_pem: db.raw('coalesce(ek_cert_pem, ?)', [identity.ekCertPem]),
    });
