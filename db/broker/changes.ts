import type { Knex } from 'knex';
import type { ActContext, AuditAction } from '../../domain/broker/audit.js';
import type { Trigger } from '../../domain/broker/lifecycle.js';
import { transitions } from '../../domain/broker/lifecycle.js';
import type { HardwareIdentity } from '../../domain/broker/machine.js';
import { prepared } from '../connect.js';
import type { SealedToken } from './config-tokens.js';
import { insertTokenSql, tokenBindings } from './config-tokens.js';
import type { MachineRecord, NewMachine } from './machines.js';
import { changedSelection, machineSelection, machineSource } from './machines.js';

/*
 * Every change of a machine is one SQL statement: the compare-and-set of its row, its token, its outbox rows and its
 * audit row commit together, in one round trip.
 */

/** What an act owes besides the row; the machine as changed is added to each payload as `machine`. */
export interface ChangeMessage {
  readonly topic: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface ActToLog {
  readonly action: AuditAction;
  readonly operatorCn: string;
  readonly detail: string | null;
  readonly context: ActContext;
}

/** `EventMachine` of domain/broker/events.ts as jsonb, over the row `alias`. */
export const machineSnapshot = (alias: string): string => `jsonb_build_object(
  'machineId', ${alias}.machine_id, 'ekFingerprint', ${alias}.ek_fingerprint, 'role', ${alias}.role,
  'status', ${alias}.status, 'hostname', ${alias}.hostname, 'attestedAt', ${alias}.attested_at,
  'hwUuid', ${alias}.hw_uuid, 'hwMac', ${alias}.hw_mac, 'hwSerial', ${alias}.hw_serial,
  'hwProduct', ${alias}.hw_product, 'isoUrl', ${alias}.iso_url)`;

const queueSql = (from: string): string => `
  insert into outbox (topic, key, payload)
  select o.topic, c.machine_id::text, o.payload || jsonb_build_object('machine', ${machineSnapshot('c')})
  from ${from} c, jsonb_to_recordset(?::jsonb) as o(topic text, payload jsonb)`;

const auditSql = (prev: string, next: string): string =>
  `audit_append(?, ?, c.machine_id::text, ${next}, ?, ${prev}, ?, ?, ?)`;

const auditBindings = ({ action, detail, operatorCn, context }: ActToLog): readonly Knex.RawBinding[] =>
  [action, detail, operatorCn, context.requestId, context.sourceAddress, context.method] as Knex.RawBinding[];

/** Columns that a trigger writes besides the status. `vote` guards: no first vote for another proposal may be open. */
const assignments: Readonly<Record<Trigger, { readonly set: readonly string[]; readonly guard?: string }>> = {
  approve: {
    set: ['role = ?', 'hostname = ?', 'assigned_ip = ?', 'config_token_sha256 = ?', 'wipe_pending = false'],
    guard: '(vote_expires_at is null or vote_expires_at <= now())',
  },
  reject: { set: [] },
  revoke: {
    set: ['revoked_at = now()', 'wipe_pending = ?', 'wipe_told_at = null', 'wipe_completed_at = null'],
  },
  lock: { set: ['locked_at = now()'] },
  unlock: { set: ['locked_at = null'] },
  attest: { set: ['attested_at = now()'] },
};

export interface Change {
  readonly trigger: Trigger;
  readonly machineId: string;
  /** Values of the trigger's columns, in the order of the table above. */
  readonly values?: readonly (string | boolean | null)[];
  readonly token?: SealedToken;
  readonly messages: readonly ChangeMessage[];
  /** Acts of operators are logged; a node's attestation is not. */
  readonly act?: ActToLog;
  /** The open vote that this change completes: its guard does not apply. */
  readonly completesVote?: boolean;
}

/** Carries a change out, or returns undefined when the machine is not in a status that allows it (or does not exist). */
export const changeMachine = async (db: Knex, change: Change): Promise<MachineRecord | undefined> => {
  const { trigger, token, act, completesVote = false } = change;
  const { set, guard } = assignments[trigger];
  const { from, to } = transitions[trigger];
  const guarded = guard !== undefined && !completesVote;
  const sql = `
    with changed as (
      update machines set previous_status = status, status = '${to}', vote_role = null, vote_expires_at = null
        ${set.map((item) => `, ${item}`).join('')}
      where machine_id = ? and status in (${from.map((status) => `'${status}'`).join(', ')})
        ${guarded ? `and ${guard}` : ''}
      returning *
    ), closed as (
      update approval_requests set closed_at = now()
      where machine_id in (select machine_id from changed) and closed_at is null
    )${token === undefined ? '' : `, token as (${insertTokenSql('changed')})`}
    , queued as (${queueSql('changed')})
    select ${changedSelection('c')}, t.consumed_at is not null as "tokenConsumed",
      ${act === undefined ? 'null' : auditSql('c.previous_status', 'c.status')} as "auditId"
    from changed c left join config_tokens t on t.token_sha256 = c.config_token_sha256`;
  const rows = await prepared<MachineRecord>(
    db,
    `change:${trigger}:${token === undefined ? '' : 'token'}:${act === undefined ? '' : 'act'}:${guarded ? 'guard' : ''}`,
    sql,
    [
      ...(change.values ?? []),
      change.machineId,
      ...(token === undefined ? [] : tokenBindings(token)),
      JSON.stringify(change.messages),
      ...(act === undefined ? [] : auditBindings(act)),
    ] as Knex.RawBinding[],
  );
  return rows[0];
};

const insertSql = `
  insert into machines (machine_id, ek_fingerprint, ek_fingerprint_sha384, ek_spki_sha384, ek_source, ek_cert_pem,
    hw_uuid, hw_mac, hw_serial, hw_product, role, status, iso_url, config_token_sha256)
  select ?::uuid, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
  where not exists (select 1 from machines where ek_fingerprint = any(?))
  on conflict do nothing returning *`;

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
    where m.ek_fingerprint = any(?) and not exists (select 1 from changed)`;
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
    ...[machine.status, machine.isoUrl, token?.sha256 ?? null, fingerprints],
    ...(token === undefined ? [] : tokenBindings(token)),
    JSON.stringify(creation.messages),
    ...(act === undefined ? [] : auditBindings(act)),
    fingerprints,
  ] as Knex.RawBinding[];
  const name = `create-machine:${token === undefined ? '' : 'token'}:${act === undefined ? '' : 'act'}`;
  // A row that a concurrent request committed after our snapshot is invisible to this statement, not to the next.
  for (;;) {
    const [row] = await prepared<MachineRecord & { isNew: boolean }>(db, name, sql, bindings);
    if (row !== undefined) return { isNew: row.isNew, machine: row };
  }
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
