import type { Knex } from 'knex';
import { appendAudit } from '../../db/broker/audit.js';
import { deletePcrPolicy, findPcrPolicy, putPcrPolicy } from '../../db/broker/pcr-policies.js';
import type { StoredPcrPolicy } from '../../db/broker/pcr-policies.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { Role } from '../../domain/broker/machine.js';
import type { PcrPolicy } from '../../domain/broker/pcr-policy.js';
import { policyPcrs, requireUsablePolicy } from '../../domain/broker/pcr-policy.js';
import { AppError } from '../../domain/errors.js';

export interface PcrPolicies {
  readonly read: (role: Role) => Promise<StoredPcrPolicy>;
  readonly put: (actor: Actor, role: Role, policy: PcrPolicy) => Promise<StoredPcrPolicy>;
  readonly remove: (actor: Actor, role: Role) => Promise<void>;
}

const notFound = (role: Role): AppError => new AppError('not_found', `role ${role} has no PCR policy`);

/** The PCR policies of roles; every change is one transaction with its audit row. */
export const createPcrPolicies = (db: Knex): PcrPolicies => {
  const audit = (trx: Knex, { operatorCn, context }: Actor, detail: string) =>
    appendAudit(trx, {
      ...{ action: 'pcr_policy', operatorCn, context, detail },
      ...{ machineId: null, prevState: null, newState: null },
    });
  return {
    read: async (role) => {
      const found = await findPcrPolicy(db, role);
      if (found === undefined) throw notFound(role);
      return found;
    },
    put: (actor, role, policy) => {
      requireUsablePolicy(policy);
      return db.transaction(async (trx) => {
        const stored = await putPcrPolicy(trx, role, policy, actor.operatorCn);
        const what = `${policy.bank}:${policyPcrs(policy).join(',')} ${policy.mode}`;
        await audit(trx, actor, `role=${role} set ${what}`);
        return stored;
      });
    },
    remove: (actor, role) =>
      db.transaction(async (trx) => {
        if (!(await deletePcrPolicy(trx, role))) throw notFound(role);
        await audit(trx, actor, `role=${role} removed`);
      }),
  };
};
