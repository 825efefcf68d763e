import type { Knex } from 'knex';
import type { StackName } from '../../domain/iac/names.js';

export interface Stack extends StackName {
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly config: unknown;
  /** Number of the last update that was no dry run; 0 = never updated. */
  readonly version: number;
  /** The current state; `null` = empty. */
  readonly stateId: string | null;
  readonly resourceCount: number;
  /** The update that holds the lock. */
  readonly activeUpdate: string | null;
  readonly lastUpdateAt: string | null;
  readonly deletedAt: string | null;
}

const TABLE = 'extension_iac_state_stacks';
const NAMES = 'extension_iac_state_former_names';
const columns = {
  id: 'id',
  org: 'org',
  project: 'project',
  stack: 'name',
  tags: 'tags',
  config: 'config',
  version: 'version',
  stateId: 'state_id',
  resourceCount: 'resource_count',
  activeUpdate: 'active_update',
  lastUpdateAt: 'last_update_at',
  deletedAt: 'deleted_at',
} as const;

const byName = ({ org, project, stack }: StackName) => ({ org, project, name: stack });

/** False when the name is taken. */
export const insertStack = async (
  db: Knex,
  id: string,
  name: StackName,
  tags: Readonly<Record<string, string>>,
): Promise<boolean> => {
  const inserted = await db(TABLE)
    .insert({ id, ...byName(name), tags: JSON.stringify(tags) })
    .onConflict(db.raw('(org, project, name) where deleted_at is null'))
    .ignore()
    .returning('id');
  await db(NAMES).where(byName(name)).delete();
  return inserted.length > 0;
};

export const findStack = (db: Knex, name: StackName): PromiseLike<Stack | undefined> =>
  db(TABLE).first(columns).where(byName(name)).whereNull('deleted_at');

/** The stack locked for this transaction. */
export const lockStack = (trx: Knex, id: string): PromiseLike<Stack | undefined> =>
  trx(TABLE).first(columns).where({ id }).forUpdate();

/** The last removed stack of that name. */
export const findDeletedStack = (db: Knex, name: StackName): PromiseLike<Stack | undefined> =>
  db(TABLE).first(columns).where(byName(name)).whereNotNull('deleted_at').orderBy('deleted_at', 'desc');

export const projectExists = async (db: Knex, org: string, project: string): Promise<boolean> =>
  (await db(TABLE).first('id').where({ org, project }).whereNull('deleted_at')) !== undefined;

export interface StackFilter {
  readonly org?: string | undefined;
  readonly project?: string | undefined;
  readonly tagName?: string | undefined;
  readonly tagValue?: string | undefined;
  /** Names after this one, in order of organization, project and stack. */
  readonly after?: StackName | undefined;
}

export const listStacks = (db: Knex, filter: StackFilter, limit: number): PromiseLike<readonly Stack[]> => {
  const query = db(TABLE).select(columns).whereNull('deleted_at');
  if (filter.org !== undefined) void query.where({ org: filter.org });
  if (filter.project !== undefined) void query.where({ project: filter.project });
  if (filter.tagName !== undefined) {
    void query.whereRaw('tags ->> ? is not null', [filter.tagName]);
    if (filter.tagValue !== undefined)
      void query.whereRaw('tags ->> ? = ?', [filter.tagName, filter.tagValue]);
  }
  if (filter.after !== undefined) {
    const { org, project, stack } = filter.after;
    void query.whereRaw('(org, project, name) > (?, ?, ?)', [org, project, stack]);
  }
  return query.orderBy(['org', 'project', 'name']).limit(limit);
};

export interface StackChange {
  readonly tags?: Readonly<Record<string, string>>;
  readonly config?: unknown;
  readonly version?: number;
  readonly stateId?: string | null;
  readonly resourceCount?: number;
  readonly activeUpdate?: string | null;
  readonly lastUpdateAt?: Date;
  readonly deletedAt?: Date | null;
}

export const changeStack = (trx: Knex, id: string, change: StackChange): PromiseLike<number> => {
  const { tags, config, ...rest } = change;
  const row = Object.fromEntries(
    Object.entries(rest).map(([member, value]) => [columns[member as keyof typeof rest], value]),
  );
  if (tags !== undefined) row[columns.tags] = JSON.stringify(tags);
  if (config !== undefined) row[columns.config] = JSON.stringify(config);
  return trx(TABLE).where({ id }).update(row);
};

/** Moves a stack to a new name and keeps the old one resolving for decrypt. */
export const renameStackRow = async (
  trx: Knex,
  id: string,
  from: StackName,
  to: StackName,
): Promise<void> => {
  await trx(TABLE).where({ id }).update(byName(to));
  await trx(NAMES).where(byName(to)).delete();
  await trx(NAMES)
    .insert({ ...byName(from), stack_id: id })
    .onConflict(['org', 'project', 'name'])
    .merge();
};

/** Removes for good a stack that has been deleted since before `before`. */
export const purgeStack = (db: Knex, id: string, before: Date): PromiseLike<number> =>
  db(TABLE).where({ id }).where('deleted_at', '<=', before).delete();

/** Names that the stack had, in no order: a state holds the URNs of exactly one of them. */
export const listFormerNames = (db: Knex, stackId: string): PromiseLike<readonly StackName[]> =>
  db(NAMES).select({ org: 'org', project: 'project', stack: 'name' }).where({ stack_id: stackId });
