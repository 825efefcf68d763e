import type { Knex } from 'knex';
import type { AuditAct, AuditAction, AuditEntry } from '../../domain/broker/audit.js';
import { GENESIS_HASH } from '../../domain/broker/audit.js';

const columns = {
  id: 'id',
  timestamp: 'timestamp',
  operatorCn: 'operator_cn',
  action: 'action',
  machineId: 'machine_id',
  prevState: 'prev_state',
  newState: 'new_state',
  detail: 'detail',
  prevHash: 'prev_hash',
  entryHash: 'entry_hash',
} as const satisfies Record<keyof AuditEntry, string>;

const BATCH = 5_000;

/**
 * Appends one row to the chain, in the caller's transaction. The chain's lock is held until that transaction ends:
 * append last, and touch no machine row afterwards.
 */
export const appendAudit = async (trx: Knex, act: AuditAct): Promise<number> => {
  const { requestId, sourceAddress, method } = act.context;
  const result = await trx.raw<{ rows: { id: number }[] }>(
    'select audit_append(?, ?, ?, ?, ?, ?, ?, ?, ?) as id',
    [
      act.action,
      act.detail,
      act.machineId,
      act.newState,
      act.operatorCn,
      act.prevState,
      requestId,
      sourceAddress,
      method,
    ] as Knex.RawBinding[],
  );
  return result.rows[0]?.id ?? 0;
};

export interface AuditFilter {
  readonly machineId?: string | undefined;
  readonly action?: AuditAction | undefined;
  readonly operatorCn?: string | undefined;
  /** ISO 8601, inclusive. */
  readonly since?: string | undefined;
  /** ISO 8601, exclusive. */
  readonly until?: string | undefined;
}

const filtered = (db: Knex, filter: AuditFilter): Knex.QueryBuilder => {
  const query = db('audit_log');
  if (filter.machineId !== undefined) void query.where({ machine_id: filter.machineId });
  if (filter.action !== undefined) void query.where({ action: filter.action });
  if (filter.operatorCn !== undefined) void query.where({ operator_cn: filter.operatorCn });
  if (filter.since !== undefined) void query.where('timestamp', '>=', filter.since);
  if (filter.until !== undefined) void query.where('timestamp', '<', filter.until);
  return query;
};

/** One page, newest first. */
export const listAudit = async (
  db: Knex,
  filter: AuditFilter,
  page: { readonly page: number; readonly perPage: number },
): Promise<readonly AuditEntry[]> =>
  (await filtered(db, filter)
    .select(columns)
    .orderBy('id', 'desc')
    .limit(page.perPage)
    .offset((page.page - 1) * page.perPage)) as AuditEntry[];

export const countAudit = async (db: Knex, filter: AuditFilter): Promise<number> => {
  const rows = (await filtered(db, filter).count({ total: '*' })) as { total: number }[];
  return rows[0]?.total ?? 0;
};

/** The last row of the chain, by the database's clock. */
export const readHead = async (
  db: Knex,
): Promise<{ readonly size: number; readonly rootHash: string; readonly timestamp: string }> => {
  const result = await db.raw<{
    rows: { size: number | null; rootHash: string | null; timestamp: string }[];
  }>(
    `select head.id as size, head.entry_hash as "rootHash", now() as timestamp
     from (select 1) one left join (select id, entry_hash from audit_log order by id desc limit 1) head on true`,
  );
  const [row] = result.rows;
  if (row === undefined) throw new Error('select returned no row');
  return { size: row.size ?? 0, rootHash: row.rootHash ?? GENESIS_HASH, timestamp: row.timestamp };
};

export const countAuditByAction = async (
  db: Knex,
): Promise<readonly { readonly action: AuditAction; readonly total: number }[]> =>
  (await db('audit_log').select('action').count({ total: '*' }).groupBy('action')) as unknown as {
    action: AuditAction;
    total: number;
  }[];

/** The columns of `columns`, in its order. */
type ChainRow = readonly [
  number,
  string,
  string,
  AuditAction,
  string | null,
  string | null,
  string | null,
  string | null,
  string,
  string,
];

const CHAIN_SQL = `select ${Object.values(columns).join(', ')} from audit_log where id > ? order by id limit ?`;

const toEntry = (row: ChainRow): AuditEntry => ({
  id: row[0],
  timestamp: row[1],
  operatorCn: row[2],
  action: row[3],
  machineId: row[4],
  prevState: row[5],
  newState: row[6],
  detail: row[7],
  prevHash: row[8],
  entryHash: row[9],
});

/**
 * The whole chain in id order, in batches of one snapshot: constant memory whatever the size. The next batch is
 * on its way while the caller works on one.
 */
export async function* readChain(db: Knex): AsyncGenerator<readonly AuditEntry[]> {
  const trx = await db.transaction({ isolationLevel: 'repeatable read', readOnly: true });
  const batchAfter = async (id: number): Promise<readonly AuditEntry[]> => {
    const query = trx.raw<{ rows: ChainRow[] }>(CHAIN_SQL, [id, BATCH]).options({ rowMode: 'array' });
    return (await query).rows.map(toEntry);
  };
  let pending = batchAfter(Number.MIN_SAFE_INTEGER);
  try {
    for (;;) {
      const batch = await pending;
      const last = batch.at(-1);
      if (last === undefined) return;
      pending = batchAfter(last.id);
      yield batch;
    }
  } finally {
    await pending.catch(() => undefined);
    await trx.rollback();
  }
}
