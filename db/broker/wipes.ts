import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { ActToLog, ChangeMessage } from './change-sql.js';
import { auditBindings, auditSql, queueSql } from './change-sql.js';
import type { MachineRecord } from './machines.js';
import { changedSelection } from './machines.js';

/** The node was told to wipe: remembers when it first was, and lets the waiting workflow know. */
export const recordWipeTold = async (
  db: Knex,
  machineId: string,
  messages: readonly ChangeMessage[],
): Promise<void> => {
  await prepared(
    db,
    'wipe-told',
    `with changed as (
       update machines set wipe_told_at = now() where machine_id = ? and wipe_pending and wipe_told_at is null returning *
     ), queued as (${queueSql('changed')})
     select machine_id from changed`,
    [machineId, JSON.stringify(messages)],
  );
};

/** The wipe is done. Undefined when none was asked, or it was reported before. */
export const recordWipeCompleted = async (
  db: Knex,
  machineId: string,
  messages: readonly ChangeMessage[],
  act: ActToLog,
): Promise<MachineRecord | undefined> => {
  const rows = await prepared<MachineRecord>(
    db,
    'wipe-completed',
    `with changed as (
       update machines set wipe_pending = false, wipe_completed_at = now()
       where machine_id = ? and status = 'revoked' and wipe_pending returning *
     ), queued as (${queueSql('changed')})
     select ${changedSelection('c')}, true as "tokenConsumed", ${auditSql('c.status', 'c.status')} as "auditId"
     from changed c`,
    [machineId, JSON.stringify(messages), ...auditBindings(act)],
  );
  return rows[0];
};

/** Marks a wipe as overdue; undefined when it is done or was marked before. */
export const claimWipeOverdue = async (
  trx: Knex,
  machineId: string,
): Promise<{ readonly revokedAt: string; readonly wipeToldAt: string | null } | undefined> => {
  const [row] = (await trx('machines')
    .where({ machine_id: machineId, status: 'revoked', wipe_pending: true })
    .whereNull('wipe_overdue_at')
    .update({ wipe_overdue_at: trx.fn.now() })
    .returning(['revoked_at', 'wipe_told_at'])) as { revoked_at: string; wipe_told_at: string | null }[];
  return row === undefined ? undefined : { revokedAt: row.revoked_at, wipeToldAt: row.wipe_told_at };
};
