import type { Knex } from 'knex';
import { addToOutbox } from '../../db/outbox.js';
import { claimWipeOverdue } from '../../db/broker/wipes.js';
import { requireMachine } from './acts.js';

export interface WipeActivities {
  readonly readWipe: (machineId: string) => Promise<{ readonly told: boolean; readonly completed: boolean }>;
  /** Raises `machine.wipe_overdue` once a revocation, however often it is called. */
  readonly raiseWipeOverdue: (machineId: string) => Promise<void>;
}

export const createWipeActivities = (db: Knex): WipeActivities => ({
  readWipe: async (machineId) => {
    const machine = await requireMachine(db, machineId);
    return { told: machine.wipeToldAt !== null, completed: machine.wipeCompletedAt !== null };
  },
  raiseWipeOverdue: (machineId) =>
    db.transaction(async (trx) => {
      const claimed = await claimWipeOverdue(trx, machineId);
      if (claimed === undefined) return;
      await addToOutbox(trx, [
        {
          topic: 'machine-event',
          key: machineId,
          payload: {
            event: 'machine.wipe_overdue',
            machine: { machineId },
            data: { revoked_at: claimed.revokedAt, wipe_told_at: claimed.wipeToldAt },
          },
        },
      ]);
    }),
});
