import type { Knex } from 'knex';
import type { Trigger } from '../../domain/broker/lifecycle.js';
import { transitions } from '../../domain/broker/lifecycle.js';
import { prepared } from '../connect.js';
import type { ActToLog, ChangeMessage } from './change-sql.js';
import { auditBindings, auditSql, queueSql } from './change-sql.js';
import type { SealedToken } from './config-tokens.js';
import { insertTokenSql, tokenBindings } from './config-tokens.js';
import type { MachineRecord } from './machines.js';
import { changedSelection } from './machines.js';

/** Columns that a trigger writes besides the status. `vote` guards: no first vote for another proposal may be open. */
const assignments: Readonly<Record<Trigger, { readonly set: readonly string[]; readonly guard?: string }>> = {
  approve: {
    set: ['role = ?', 'hostname = ?', 'assigned_ip = ?', 'config_token_sha256 = ?', 'wipe_pending = false'],
    guard: '(vote_expires_at is null or vote_expires_at <= now())',
  },
  reject: { set: [] },
  revoke: {
    set: [
      'revoked_at = now()',
      'wipe_pending = ?',
      'wipe_told_at = null',
      'wipe_completed_at = null',
      'wipe_overdue_at = null',
    ],
  },
  lock: { set: ['locked_at = now()'] },
  unlock: { set: ['locked_at = null'] },
  attest: { set: ['attested_at = now()', 'config_token_sha256 = coalesce(?, config_token_sha256)'] },
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
