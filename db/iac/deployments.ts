import type { Knex } from 'knex';
import type { StackName } from '../../domain/iac/names.js';
import type { Deployment, DeploymentStatus } from '../../domain/iac/deployments/deployment.js';

/** Environment and credentials of a deployment, sealed by the service key named `keyId`. */
export interface SealedSecrets {
  readonly keyId: string;
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly ciphertext: Buffer;
}

const TABLE = 'extension_iac_state_deployments';
const UPDATES = 'extension_iac_state_deployment_updates';
const columns = {
  id: 'd.id',
  stackId: 'd.stack_id',
  number: 'd.number',
  operation: 'd.operation',
  status: 'd.status',
  source: 'd.source',
  preRunCommands: 'd.pre_run_commands',
  requestedBy: 'd.requested_by',
  initiator: 'd.initiator',
  reason: 'd.reason',
  exitCode: 'd.exit_code',
  createdAt: 'd.created_at',
  startedAt: 'd.started_at',
  completedAt: 'd.completed_at',
} as const;

export type NewDeployment = Pick<
  Deployment,
  'id' | 'stackId' | 'operation' | 'source' | 'preRunCommands' | 'requestedBy' | 'initiator'
> & { readonly sealed: SealedSecrets };

/** Appends to the stack's queue; the caller's transaction holds the stack's row. Returns the new number. */
export const insertDeployment = async (trx: Knex, deployment: NewDeployment): Promise<number> => {
  const { id, stackId, operation, source, preRunCommands, requestedBy, initiator, sealed } = deployment;
  const rows: { number: number }[] = await trx(TABLE)
    .insert({
      ...{ id, stack_id: stackId, operation, requested_by: requestedBy, initiator },
      number: trx.raw(`(select coalesce(max(number), 0) + 1 from ${TABLE} where stack_id = ?)`, [stackId]),
      status: 'queued' satisfies DeploymentStatus,
      source: source === null ? null : JSON.stringify(source),
      pre_run_commands: JSON.stringify(preRunCommands),
      ...{ master_key_id: sealed.keyId, nonce: sealed.nonce, tag: sealed.tag, ciphertext: sealed.ciphertext },
    })
    .returning('number');
  return rows[0]?.number ?? 0;
};

export const findDeployment = (db: Knex, id: string): PromiseLike<Deployment | undefined> =>
  db(`${TABLE} as d`).first(columns).where('d.id', id);

export const findDeploymentByNumber = (
  db: Knex,
  stackId: string,
  number: number,
): PromiseLike<Deployment | undefined> =>
  db(`${TABLE} as d`).first(columns).where({ 'd.stack_id': stackId, 'd.number': number });

/** Newest first. */
export const listDeployments = (
  db: Knex,
  stackId: string,
  {
    offset,
    limit,
    ascending,
  }: { readonly offset: number; readonly limit: number; readonly ascending: boolean },
): PromiseLike<readonly Deployment[]> =>
  db(`${TABLE} as d`)
    .select(columns)
    .where('d.stack_id', stackId)
    .orderBy('d.number', ascending ? 'asc' : 'desc')
    .offset(offset)
    .limit(limit);

export const countDeployments = async (db: Knex, stackId: string): Promise<number> => {
  const row: { total?: string | number } | undefined = await db(TABLE)
    .count({ total: '*' })
    .where({ stack_id: stackId })
    .first();
  return Number(row?.total ?? 0);
};

export interface RunnableDeployment extends Deployment, StackName {
  readonly sealed: SealedSecrets;
}

/** With the present name of its stack and its sealed secrets. */
export const findRunnable = async (db: Knex, id: string): Promise<RunnableDeployment | undefined> => {
  const row = (await db(`${TABLE} as d`)
    .join('extension_iac_state_stacks as s', 's.id', 'd.stack_id')
    .first({
      ...columns,
      ...{ org: 's.org', project: 's.project', stack: 's.name' },
      ...{ keyId: 'd.master_key_id', nonce: 'd.nonce', tag: 'd.tag', ciphertext: 'd.ciphertext' },
    })
    .where('d.id', id)
    .whereNull('s.deleted_at')) as (Deployment & StackName & SealedSecrets) | undefined;
  if (row === undefined) return undefined;
  const { keyId, nonce, tag, ciphertext, ...rest } = row;
  return { ...rest, sealed: { keyId, nonce, tag, ciphertext } };
};

/** The first of the stack's queue begins to run. False while another one of the stack has not been released. */
export const claimDeployment = async (db: Knex, id: string, now: Date): Promise<boolean> => {
  const changed = await db(`${TABLE} as d`)
    .where({ 'd.id': id, 'd.status': 'queued' satisfies DeploymentStatus })
    .whereNotExists(
      db(`${TABLE} as earlier`)
        .select(db.raw('1'))
        .whereRaw(
          'earlier.stack_id = d.stack_id and earlier.number < d.number and earlier.released_at is null',
        ),
    )
    .update({ status: 'running' satisfies DeploymentStatus, started_at: now });
  return changed > 0;
};

export interface DeploymentEnd {
  readonly status: DeploymentStatus;
  readonly reason: string | null;
  readonly exitCode: number | null;
}

/** Compare-and-set: a deployment that is over stays as it is. */
export const endDeployment = async (
  db: Knex,
  id: string,
  { status, reason, exitCode }: DeploymentEnd,
  now: Date,
): Promise<boolean> => {
  const changed = await db(TABLE)
    .where({ id })
    .whereIn('status', ['queued', 'running'] satisfies DeploymentStatus[])
    .update({ status, reason, exit_code: exitCode, completed_at: now });
  return changed > 0;
};

/** Gives up the place in the queue, the token and the secrets' use; returns the id of the next in the queue. */
export const releaseDeployment = async (
  trx: Knex,
  id: string,
  exitCode: number | null,
  now: Date,
): Promise<string | undefined> => {
  const rows: unknown = await trx(TABLE)
    .where({ id })
    .whereNull('released_at')
    .update({
      released_at: now,
      token_hash: null,
      exit_code: trx.raw('coalesce(exit_code, ?)', [exitCode]),
    })
    .returning('stack_id');
  const [released] = rows as { stack_id: string }[];
  if (released === undefined) return undefined;
  const next = await trx(TABLE)
    .first<{ id: string } | undefined>('id')
    .where({ stack_id: released.stack_id, status: 'queued' satisfies DeploymentStatus })
    .orderBy('number');
  return next?.id;
};

export const setDeploymentToken = async (db: Knex, id: string, tokenHash: Buffer): Promise<boolean> => {
  const changed = await db(TABLE)
    .where({ id, status: 'running' satisfies DeploymentStatus })
    .update({ token_hash: tokenHash });
  return changed > 0;
};

export interface TokenHolder extends StackName {
  readonly deploymentId: string;
}

/** The deployment whose CLI holds that token; it ends with the run. */
export const findTokenHolder = (db: Knex, tokenHash: Buffer): PromiseLike<TokenHolder | undefined> =>
  db(`${TABLE} as d`)
    .join('extension_iac_state_stacks as s', 's.id', 'd.stack_id')
    .first({ deploymentId: 'd.id', org: 's.org', project: 's.project', stack: 's.name' })
    .where('d.token_hash', tokenHash)
    .whereNull('d.released_at')
    .whereNull('s.deleted_at');

export const linkUpdate = async (db: Knex, deploymentId: string, updateId: string): Promise<void> => {
  await db(UPDATES)
    .insert({ deployment_id: deploymentId, update_id: updateId })
    .onConflict('update_id')
    .ignore();
};

export const listLinkedUpdates = async (db: Knex, deploymentId: string): Promise<readonly string[]> => {
  const rows = (await db(UPDATES).select('update_id').where({ deployment_id: deploymentId })) as {
    update_id: string;
  }[];
  return rows.map((row) => row.update_id);
};
