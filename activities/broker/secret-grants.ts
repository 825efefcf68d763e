import type { Knex } from 'knex';
import type { GrantRecord } from '../../db/broker/secret-grants.js';
import { deleteGrants, insertGrants, listGrants, unknownMachines } from '../../db/broker/secret-grants.js';
import type { Actor } from '../../domain/broker/actor.js';
import { AppError } from '../../domain/errors.js';
import { logAct } from './act-log.js';
import { requireSharedSecret } from './shared-secrets.js';

export interface SecretGrants {
  /** Returns how many grants are new. */
  readonly grant: (actor: Actor, sharedSecretId: string, machineIds: readonly string[]) => Promise<number>;
  /** Returns how many grants were taken back; no read that begins afterwards succeeds. */
  readonly revoke: (actor: Actor, sharedSecretId: string, machineIds: readonly string[]) => Promise<number>;
  readonly list: (sharedSecretId: string) => Promise<readonly GrantRecord[]>;
}

export const createSecretGrants = (db: Knex): SecretGrants => ({
  grant: (actor, id, machineIds) =>
    db.transaction(async (trx) => {
      await requireSharedSecret(trx, id);
      const [unknown] = await unknownMachines(trx, machineIds);
      if (unknown !== undefined) throw new AppError('not_found', `Machine ${unknown} not found`);
      const granted = await insertGrants(trx, id, machineIds, actor.operatorCn);
      await logAct(trx, actor, 'grant', `shared_secret=${id} machines=${machineIds.length} new=${granted}`);
      return granted;
    }),
  revoke: (actor, id, machineIds) =>
    db.transaction(async (trx) => {
      await requireSharedSecret(trx, id);
      const revoked = await deleteGrants(trx, id, machineIds, actor.operatorCn);
      await logAct(
        trx,
        actor,
        'grant_revoke',
        `shared_secret=${id} machines=${machineIds.length} gone=${revoked}`,
      );
      return revoked;
    }),
  list: async (id) => {
    await requireSharedSecret(db, id);
    return listGrants(db, id);
  },
});
