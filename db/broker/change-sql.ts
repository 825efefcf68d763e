import type { Knex } from 'knex';
import type { ActContext, AuditAction } from '../../domain/broker/audit.js';

/*
 * Every change of a machine is one SQL statement: the compare-and-set of its row, its token, its outbox rows and its
 * audit row commit together, in one round trip. These are the pieces of such statements.
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

/** CTE body: the outbox rows of the machine in CTE `from`; one binding, a JSON array of ChangeMessage. */
export const queueSql = (from: string): string => `
  insert into outbox (topic, key, payload)
  select o.topic, c.machine_id::text, o.payload || jsonb_build_object('machine', ${machineSnapshot('c')})
  from ${from} c, jsonb_to_recordset(?::jsonb) as o(topic text, payload jsonb)`;

/** Appends the audit row of the machine `c`; bindings by `auditBindings` around the states. */
export const auditSql = (prev: string, next: string): string =>
  `audit_append(?, ?, c.machine_id::text, ${next}, ?, ${prev}, ?, ?, ?)`;

export const auditBindings = ({
  action,
  detail,
  operatorCn,
  context,
}: ActToLog): readonly Knex.RawBinding[] =>
  [action, detail, operatorCn, context.requestId, context.sourceAddress, context.method] as Knex.RawBinding[];
