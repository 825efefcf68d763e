import type { Knex } from 'knex';
import type { ProvisioningPlan } from '../../domain/vending/plan.js';
import type { Run, RunStatus } from '../../domain/vending/run.js';
import { addLifecycleEvents } from './lifecycle.js';

interface RunRow {
  readonly id: string;
  readonly subscription_key: string;
  readonly subscription_id: string;
  readonly subscription_name: string;
  readonly management_group_id: string;
  readonly trigger: Run['trigger'];
  readonly triggered_by: string;
  readonly event_id: string;
  readonly status: RunStatus;
  readonly plan: ProvisioningPlan | null;
  readonly management_group: string;
  readonly initiative_id: string;
  readonly rbac_roles: string[];
  readonly errors: string[];
  readonly log: string[];
  readonly gate_passed: boolean | null;
  readonly workflow_id: string;
  readonly temporal_run_id: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
}

const columns: (keyof RunRow)[] = [
  'id',
  'subscription_key',
  'subscription_id',
  'subscription_name',
  'management_group_id',
  'trigger',
  'triggered_by',
  'event_id',
  'status',
  'plan',
  'management_group',
  'initiative_id',
  'rbac_roles',
  'errors',
  'log',
  'gate_passed',
  'workflow_id',
  'temporal_run_id',
  'created_at',
  'started_at',
  'ended_at',
];

const toRun = (row: RunRow): Run => ({
  id: row.id,
  subscriptionKey: row.subscription_key,
  subscriptionId: row.subscription_id,
  subscriptionName: row.subscription_name,
  managementGroupId: row.management_group_id,
  trigger: row.trigger,
  triggeredBy: row.triggered_by,
  eventId: row.event_id,
  status: row.status,
  plan: row.plan ?? undefined,
  managementGroup: row.management_group,
  initiativeId: row.initiative_id,
  rbacRoles: row.rbac_roles,
  errors: row.errors,
  log: row.log,
  gatePassed: row.gate_passed ?? undefined,
  workflowId: row.workflow_id,
  temporalRunId: row.temporal_run_id,
  createdAt: row.created_at,
  startedAt: row.started_at ?? undefined,
  endedAt: row.ended_at ?? undefined,
});

const runs = (db: Knex) => db<RunRow>('vending_runs');

export const findRun = async (db: Knex, id: string): Promise<Run | undefined> => {
  const row = await runs(db).first(columns).where({ id });
  return row === undefined ? undefined : toRun(row);
};

export const runsOfSubscription = async (
  db: Knex,
  subscriptionKey: string,
  limit: number,
): Promise<readonly Run[]> => {
  const found = await runs(db)
    .select(columns)
    .where({ subscription_key: subscriptionKey })
    .orderBy('created_at', 'desc')
    .limit(limit);
  return found.map(toRun);
};

export interface RunFilter {
  readonly limit: number;
  readonly status: RunStatus | undefined;
  /** Only runs made before this one: the last of the page before. */
  readonly before: string | undefined;
}

/** Newest first. */
export const listRuns = async (db: Knex, { limit, status, before }: RunFilter): Promise<readonly Run[]> => {
  const query = runs(db).select(columns).orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit);
  if (status !== undefined) void query.where({ status });
  if (before !== undefined) {
    void query.whereRaw('(created_at, id) < (select created_at, id from vending_runs where id = ?)', [
      before,
    ]);
  }
  return (await query).map(toRun);
};

/** Pending runs whose turn it is; they are ours for `leaseSeconds`. */
export const claimForDispatch = async (
  db: Knex,
  limit: number,
  leaseSeconds: number,
): Promise<readonly Pick<Run, 'id' | 'subscriptionKey' | 'workflowId'>[]> => {
  const result = await db.raw<{ rows: Pick<Run, 'id' | 'subscriptionKey' | 'workflowId'>[] }>(
    `update vending_runs set dispatch_at = now() + ? * interval '1 second'
     where id in (select id from vending_runs where status = 'pending' and dispatch_at <= now()
                  order by dispatch_at limit ? for update skip locked)
     returning id, subscription_key as "subscriptionKey", workflow_id as "workflowId"`,
    [leaseSeconds, limit],
  );
  return result.rows;
};

export const postponeDispatch = async (db: Knex, id: string, seconds: number): Promise<void> => {
  await runs(db)
    .where({ id, status: 'pending' })
    .update({ dispatch_at: db.raw(`now() + ? * interval '1 second'`, [seconds]) } as object);
};

/**
 * Takes a pending run for one workflow execution; asking again for the same execution is fine.
 * Undefined when the run is another's or over.
 */
export const beginRun = (db: Knex, id: string, temporalRunId: string): Promise<Run | undefined> =>
  db.transaction(async (trx) => {
    const [row] = await runs(trx)
      .where({ id })
      .andWhereRaw(`(status = 'pending' or (status = 'running' and temporal_run_id = ?))`, [temporalRunId])
      .update({
        status: 'running',
        temporal_run_id: temporalRunId,
        started_at: trx.raw('coalesce(started_at, now())'),
        checked_at: trx.raw('now()'),
      } as object)
      .returning(columns);
    if (row === undefined) return undefined;
    await addLifecycleEvents(trx, id, ['STARTED']);
    return toRun(row);
  });

/** Facts that a step learned, written as soon as they are true. */
export type RunFacts = Partial<
  Pick<Run, 'subscriptionName' | 'managementGroup' | 'initiativeId' | 'rbacRoles' | 'plan' | 'gatePassed'>
>;

export const recordFacts = async (db: Knex, id: string, facts: RunFacts): Promise<void> => {
  const values = {
    subscription_name: facts.subscriptionName,
    management_group: facts.managementGroup,
    initiative_id: facts.initiativeId,
    rbac_roles: facts.rbacRoles && JSON.stringify(facts.rbacRoles),
    plan: facts.plan && JSON.stringify(facts.plan),
    gate_passed: facts.gatePassed,
  };
  const said = Object.entries(values).filter(([, value]) => value !== undefined);
  if (said.length === 0) return;
  await runs(db).where({ id, status: 'running' }).update(Object.fromEntries(said));
};

/** The last word on a run, and the wake-up of everybody who waits for it. False when somebody else spoke before. */
export const endRun = async (
  trx: Knex,
  id: string,
  temporalRunId: string,
  verdict: Pick<Run, 'errors' | 'log'>,
): Promise<boolean> => {
  const status: RunStatus = verdict.errors.length === 0 ? 'succeeded' : 'failed';
  const [ended] = await runs(trx)
    .where({ id, status: 'running', temporal_run_id: temporalRunId })
    .update({
      status,
      errors: JSON.stringify(verdict.errors),
      log: JSON.stringify(verdict.log),
      ended_at: trx.raw('now()'),
    } as object)
    .returning('subscription_key');
  if (ended === undefined) return false;
  await addLifecycleEvents(trx, id, ['COMPLETED', status === 'succeeded' ? 'SUCCEEDED' : 'FAILED']);
  await trx.raw('select pg_notify(?, ?)', [RUN_ENDED, ended.subscription_key]);
  return true;
};

/** Channel that names the subscription of every run that ends. */
export const RUN_ENDED = 'vending_run_ended';

/** Running runs nobody looked at for `seconds`; asking counts as a look. */
export const claimForCheck = async (
  db: Knex,
  seconds: number,
  limit: number,
): Promise<readonly Pick<Run, 'id' | 'workflowId' | 'temporalRunId'>[]> => {
  const result = await db.raw<{ rows: Pick<Run, 'id' | 'workflowId' | 'temporalRunId'>[] }>(
    `update vending_runs set checked_at = now()
     where id in (select id from vending_runs where status = 'running' and checked_at < now() - ? * interval '1 second'
                  order by checked_at limit ? for update skip locked)
     returning id, workflow_id as "workflowId", temporal_run_id as "temporalRunId"`,
    [seconds, limit],
  );
  return result.rows;
};

/** Puts a run whose execution no longer exists back to the start; its steps are idempotent. */
export const restartRun = async (db: Knex, id: string, temporalRunId: string): Promise<void> => {
  await runs(db)
    .where({ id, status: 'running', temporal_run_id: temporalRunId })
    .update({ status: 'pending', temporal_run_id: '', dispatch_at: db.raw('now()') } as object);
};
