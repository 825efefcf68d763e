import type { Knex } from 'knex';
import type { Role } from '../../domain/broker/machine.js';
import type { PcrPolicy } from '../../domain/broker/pcr-policy.js';

export interface StoredPcrPolicy extends PcrPolicy {
  readonly role: Role;
  readonly updatedAt: string;
  readonly updatedBy: string;
}

const columns = {
  role: 'role',
  bank: 'bank',
  pcrs: 'pcrs',
  mode: 'mode',
  updatedAt: 'updated_at',
  updatedBy: 'updated_by',
} as const satisfies Record<keyof StoredPcrPolicy, string>;

export const findPcrPolicy = async (db: Knex, role: Role): Promise<StoredPcrPolicy | undefined> =>
  (await db('pcr_policies').first(columns).where({ role })) as StoredPcrPolicy | undefined;

export const putPcrPolicy = async (
  db: Knex,
  role: Role,
  policy: PcrPolicy,
  updatedBy: string,
): Promise<StoredPcrPolicy> => {
  const values = {
    bank: policy.bank,
    pcrs: JSON.stringify(policy.pcrs),
    mode: policy.mode,
    updated_by: updatedBy,
    updated_at: db.fn.now(),
  };
  const rows = await db('pcr_policies')
    .insert({ role, ...values })
    .onConflict('role')
    .merge(values)
    .returning<StoredPcrPolicy[]>(Object.entries(columns).map(([name, column]) => db.ref(column).as(name)));
  const [row] = rows;
  if (row === undefined) throw new Error('a PCR policy was not stored');
  return row;
};

/** False when there was none. */
export const deletePcrPolicy = async (db: Knex, role: Role): Promise<boolean> =>
  (await db('pcr_policies').where({ role }).delete()) > 0;
