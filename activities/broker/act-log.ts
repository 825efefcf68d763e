import type { Knex } from 'knex';
import { appendAudit } from '../../db/broker/audit.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { AuditAction } from '../../domain/broker/audit.js';

/** Appends an act that changes no machine's status; last in its transaction, since it holds the chain's lock. */
export const logAct = async (
  trx: Knex,
  { operatorCn, context }: Pick<Actor, 'operatorCn' | 'context'>,
  action: AuditAction,
  detail: string,
  machineId: string | null = null,
): Promise<void> => {
  await appendAudit(trx, { action, operatorCn, machineId, prevState: null, newState: null, detail, context });
};

/** The service itself. */
export const serviceActor: Pick<Actor, 'operatorCn' | 'context'> = {
  operatorCn: 'SYSTEM',
  context: { requestId: null, sourceAddress: null, method: 'system' },
};
