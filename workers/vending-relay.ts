import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { Knex } from 'knex';
import { INBOX_FILLED } from '../activities/vending/inbox.js';
import { admitFromInbox } from '../db/vending/inbox.js';
import {
  claimForCheck,
  claimForDispatch,
  endRun,
  postponeDispatch,
  restartRun,
  RUN_ENDED,
} from '../db/vending/runs.js';
import type { Logger } from '../domain/logger.js';
import { queues } from '../workflows/queues.js';
import type { provisionSubscription } from '../workflows/vending/index.js';
import { startWakeLoop } from './wake-loop.js';
import type { WakeLoop } from './wake-loop.js';

const BATCH = 100;
const STARTS_AT_ONCE = 16;
/** A relay that died while starting a workflow gives the run back after this long. */
const LEASE_SECONDS = 10;
const SWEEP_MS = 1_000;
/** A run that is still going on is compared with its workflow this often. */
const CHECK_SECONDS = 30;

interface RelayDeps {
  readonly db: Knex;
  readonly databaseUrl: string;
  readonly client: Client;
  readonly log: Logger;
  readonly maxActive: number;
}

type Dispatched = Awaited<ReturnType<typeof claimForDispatch>>[number];
type Checked = Awaited<ReturnType<typeof claimForCheck>>[number];

/**
 * Turns inbox entries into runs and runs into workflows, at the pace that `maxActive` allows; the rest waits in the inbox.
 * Starting twice is harmless: the workflow id is the subscription's, and a run belongs to one execution only.
 */
export const startVendingRelay = (deps: RelayDeps): WakeLoop => {
  const { db, databaseUrl, log, maxActive } = deps;
  return startWakeLoop({
    name: 'vending relay',
    databaseUrl,
    channels: [INBOX_FILLED, RUN_ENDED],
    log,
    sweepMs: SWEEP_MS,
    work: async () => {
      const served = await admitFromInbox(db, { maxActive, batch: BATCH });
      const claimed = await claimForDispatch(db, STARTS_AT_ONCE, LEASE_SECONDS);
      await Promise.all(claimed.map((run) => dispatch(deps, run)));
      const checked = await claimForCheck(db, CHECK_SECONDS, BATCH);
      for (const run of checked) await reconcile(deps, run);
      return served > 0 || claimed.length > 0;
    },
  });
};

const dispatch = async ({ client, db, log }: RelayDeps, { id, workflowId }: Dispatched): Promise<void> => {
  try {
    await client.workflow.start<typeof provisionSubscription>('provisionSubscription', {
      workflowId,
      taskQueue: queues.vending,
      args: [{ runId: id }],
    });
  } catch (error) {
    // The subscription's workflow before this one is just closing, or it is ours: then the run is no longer pending.
    const closing = error instanceof WorkflowExecutionAlreadyStartedError;
    if (!closing) log.warn({ err: error, runId: id }, 'run not started, trying again');
    await postponeDispatch(db, id, closing ? 0.3 : 1);
  }
};

const CLOSED_BY_FORCE = new Set(['TERMINATED', 'FAILED', 'TIMED_OUT', 'CANCELLED', 'COMPLETED']);

/** A run whose execution vanished starts again; one whose execution was ended from outside has failed. */
const reconcile = async ({ client, db, log }: RelayDeps, run: Checked): Promise<void> => {
  try {
    const { status } = await client.workflow.getHandle(run.workflowId, run.temporalRunId).describe();
    if (!CLOSED_BY_FORCE.has(status.name)) return;
    const errors = [`the workflow ended without a verdict: ${status.name}`];
    await db.transaction((trx) => endRun(trx, run.id, run.temporalRunId, { errors, log: [] }));
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) {
      log.debug({ err: error, runId: run.id }, 'workflow not described');
      return;
    }
    log.warn({ runId: run.id }, 'the workflow of a run is gone: starting it again');
    await restartRun(db, run.id, run.temporalRunId);
  }
};
