import type { Knex } from 'knex';
import type { RewrapKind } from '../../domain/broker/rewrap.js';
import type { SealedRow, SealedValue } from './sealed.js';
import { fromSealedRow, sealedColumns, toSealedRow } from './sealed.js';

/** A sealed value with everything that names its place. */
export interface SealedPlace {
  readonly id: string;
  /** Machine id, or webhook id; null for shared secrets. */
  readonly owner: string | null;
  readonly name: string | null;
  /** Of the machine, hex. */
  readonly ekFingerprint: string | null;
  readonly sealed: SealedValue;
}

interface Source {
  readonly table: string;
  readonly id: string;
  readonly owner: string | null;
  readonly name: string | null;
  readonly ekFingerprint: string | null;
}

const sources: Readonly<Record<RewrapKind, Source>> = {
  machine: {
    table: 'machine_secrets',
    id: 'secret_id',
    owner: 'machine_id',
    name: 'name',
    ekFingerprint:
      '(select m.ek_fingerprint from machines m where m.machine_id = machine_secrets.machine_id)',
  },
  shared: { table: 'shared_secrets', id: 'shared_secret_id', owner: null, name: 'name', ekFingerprint: null },
  webhook: {
    table: 'webhook_secrets',
    id: 'webhook_secret_id',
    owner: 'webhook_id',
    name: null,
    ekFingerprint: null,
  },
};

/** Up to `limit` values under another key than `currentKeyId`, by id, after `after`. */
export const findForRewrap = async (
  db: Knex,
  kind: RewrapKind,
  currentKeyId: string,
  after: string | null,
  limit: number,
): Promise<readonly SealedPlace[]> => {
  const { table, id, owner, name, ekFingerprint } = sources[kind];
  const query = db(table)
    .select(
      { id },
      db.raw(
        `${owner ?? 'null'} as owner, ${name ?? 'null'} as name, ${ekFingerprint ?? 'null'} as "ekFingerprint"`,
      ),
      ...sealedColumns,
    )
    .whereNot('encryption_key_id', currentKeyId)
    .orderBy(id)
    .limit(limit);
  if (after !== null) void query.where(id, '>', after);
  const rows = (await query) as (Omit<SealedPlace, 'sealed'> & SealedRow)[];
  return rows.map((row) => ({
    id: row.id,
    owner: row.owner,
    name: row.name,
    ekFingerprint: row.ekFingerprint,
    sealed: fromSealedRow(row),
  }));
};

/** Writes a value sealed anew unless somebody wrote another meanwhile. */
export const writeRewrapped = async (
  db: Knex,
  kind: RewrapKind,
  place: SealedPlace,
  sealed: SealedValue,
): Promise<boolean> => {
  const { table, id } = sources[kind];
  return (
    (await db(table)
      .where({ [id]: place.id, nonce: place.sealed.nonce, encryption_key_id: place.sealed.keyId })
      .update(toSealedRow(sealed))) > 0
  );
};

export const countForRewrap = async (db: Knex, currentKeyId: string): Promise<number> => {
  const counts = await Promise.all(
    Object.values(sources).map(async ({ table }) => {
      const rows = (await db(table)
        .whereNot('encryption_key_id', currentKeyId)
        .count({ total: '*' })) as unknown as { total: number }[];
      return rows[0]?.total ?? 0;
    }),
  );
  return counts.reduce((sum, count) => sum + count, 0);
};
