import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { StackName } from '../../domain/iac/names.js';
import type { Update, UpdateStatus } from '../../domain/iac/update.js';

/** An update with the hash of its token and the present name of its stack. */
export interface StoredUpdate extends Update, StackName {
  readonly tokenHash: Buffer | null;
}

const TABLE = 'extension_iac_state_updates';
const columns = {
  id: 'id',
  stackId: 'stack_id',
  kind: 'kind',
  dryRun: 'dry_run',
  status: 'status',
  version: 'version',
  author: 'author',
  cliVersion: 'cli_version',
  message: 'message',
  environment: 'environment',
  config: 'config',
  journalVersion: 'journal_version',
  checkpointSequence: 'checkpoint_sequence',
  checkpointHash: 'checkpoint_hash',
  leaseExpiresAt: 'lease_expires_at',
  createdAt: 'created_at',
  startedAt: 'started_at',
  endedAt: 'ended_at',
  resourceChanges: 'resource_changes',
  resourceCount: 'resource_count',
} as const;
const selected = Object.entries(columns)
  .map(([member, column]) => `u.${column} as "${member}"`)
  .join(', ');

type NewUpdate = Pick<
  Update,
  'id' | 'stackId' | 'kind' | 'dryRun' | 'author' | 'cliVersion' | 'message' | 'environment' | 'config'
>;

export const insertUpdate = async (db: Knex, update: NewUpdate): Promise<void> => {
  await db(TABLE).insert({
    id: update.id,
    stack_id: update.stackId,
    kind: update.kind,
    dry_run: update.dryRun,
    status: 'not started' satisfies UpdateStatus,
    author: update.author,
    cli_version: update.cliVersion,
    message: update.message,
    environment: JSON.stringify(update.environment),
    config: JSON.stringify(update.config),
  });
};

export const findUpdate = async (db: Knex, id: string): Promise<StoredUpdate | undefined> => {
  const sql = `select ${selected}, u.token_hash as "tokenHash", s.org, s.project, s.name as stack
    from ${TABLE} u join extension_iac_state_stacks s on s.id = u.stack_id and s.deleted_at is null where u.id = ?`;
  return (await prepared<StoredUpdate>(db, 'iac-update', sql, [id]))[0];
};

/** The update locked for this transaction: its journal, checkpoints and end are taken one after another. */
export const lockUpdate = (trx: Knex, id: string): PromiseLike<Update | undefined> =>
  trx(TABLE).first(columns).where({ id }).forUpdate();

export interface UpdateChange {
  readonly status?: UpdateStatus;
  readonly version?: number;
  readonly tokenHash?: Buffer;
  readonly journalVersion?: number;
  readonly checkpointSequence?: number;
  readonly checkpointHash?: string | null;
  readonly leaseExpiresAt?: Date | null;
  readonly startedAt?: Date;
  readonly endedAt?: Date;
  readonly resourceCount?: number;
  readonly message?: string;
}

export const changeUpdate = (trx: Knex, id: string, change: UpdateChange): PromiseLike<number> =>
  trx(TABLE)
    .where({ id })
    .update(
      Object.fromEntries(
        Object.entries(change).map(([member, value]) => [
          member === 'tokenHash' ? 'token_hash' : columns[member as Exclude<keyof UpdateChange, 'tokenHash'>],
          value,
        ]),
      ),
    );

export const saveResourceChanges = (
  db: Knex,
  id: string,
  changes: Readonly<Record<string, number>>,
): PromiseLike<number> =>
  db(TABLE)
    .where({ id })
    .update({ resource_changes: JSON.stringify(changes) });

interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** Updates with a version (no dry runs), newest first. */
export const listHistory = (db: Knex, stackId: string, page: Page): PromiseLike<readonly Update[]> =>
  db(TABLE)
    .select(columns)
    .where({ stack_id: stackId })
    .whereNotNull('version')
    .orderBy('version', 'desc')
    .limit(page.limit)
    .offset(page.offset);

export const findByVersion = (db: Knex, stackId: string, version: number): PromiseLike<Update | undefined> =>
  db(TABLE).first(columns).where({ stack_id: stackId, version });

export const listPreviews = (db: Knex, stackId: string, page: Page): PromiseLike<readonly Update[]> =>
  db(TABLE)
    .select(columns)
    .where({ stack_id: stackId, dry_run: true })
    .orderBy('created_at', 'desc')
    .limit(page.limit)
    .offset(page.offset);

/** Drops dry runs beyond the newest `keep`, and updates that were created and never started for a day. */
export const pruneUpdates = (trx: Knex, stackId: string, keep: number): PromiseLike<unknown> =>
  trx.raw(
    `delete from ${TABLE} where stack_id = ? and version is null and (
       (dry_run and id not in (select id from ${TABLE} where stack_id = ? and dry_run order by created_at desc limit ?))
       or (status = 'not started' and created_at < now() - interval '1 day'))`,
    [stackId, stackId, keep],
  );
