import { readFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import type { Knex } from 'knex';
import { createVendingActivities } from '../activities/vending/index.js';
import { openInbox } from '../activities/vending/inbox.js';
import { createJobs } from '../activities/vending/jobs.js';
import { createVendingParts } from '../activities/vending/parts.js';
import type { VendingParts, VendingPartsDeps } from '../activities/vending/parts.js';
import { createProcessJob } from '../activities/vending/process-job.js';
import { createProvision } from '../activities/vending/provision.js';
import { systemClock } from '../domain/clock.js';
import type { Env } from '../domain/config/env.js';
import { parseVending } from '../domain/config/vending.js';
import type { VendingConfig } from '../domain/config/vending.js';
import type { Logger } from '../domain/logger.js';
import { queues } from '../workflows/queues.js';
import { builtBundle } from './run.js';
import type { QueueWorker } from './run.js';
import { startConsumer } from './vending-consumer.js';
import { startVendingRelay } from './vending-relay.js';

export interface VendingWorkerDeps {
  readonly config: VendingConfig;
  readonly db: Knex;
  readonly databaseUrl: string;
  readonly client: Client;
  readonly log: Logger;
  readonly workflowBundle: NonNullable<QueueWorker['workflowBundle']>;
  readonly extensions?: VendingPartsDeps['extensions'];
}

export interface VendingWorker {
  readonly worker: QueueWorker;
  /** Starts the relay, and the queue consumer when it is switched on; returns what stops them. */
  readonly start: () => () => Promise<void>;
}

/** How long a job's run is waited for at once; its message is kept meanwhile. */
const JOB_WAIT_MS = 600_000;

/** The queue `vending`: provisioning runs, the relay from the inbox, and the consumer of the job queue. */
export const createVendingWorker = (deps: VendingWorkerDeps): VendingWorker => {
  const { config, db, databaseUrl, client, log, extensions = [] } = deps;
  const parts = createVendingParts({ config, db, clock: systemClock, extensions });
  return {
    worker: {
      queue: queues.vending,
      workflowBundle: deps.workflowBundle,
      activities: createVendingActivities(db, parts),
    },
    start: () => {
      const maxActive = config.VENDING_MAX_CONCURRENT_RUNS;
      const relay = startVendingRelay({ db, databaseUrl, client, log, maxActive });
      const stopConsumer = config.VENDING_QUEUE_CONSUMER ? consume(deps, parts) : undefined;
      return async () => {
        await stopConsumer?.();
        await relay.stop();
        await parts.outbound.close();
      };
    },
  };
};

/** The worker as the environment says; undefined where vending is not configured at all. */
export const vendingWorkerOf = (
  env: Env,
  deps: Pick<VendingWorkerDeps, 'db' | 'databaseUrl' | 'client' | 'log'>,
): VendingWorker | undefined => {
  if ((env['VENDING_CLOUD_TENANT_ID'] ?? '') === '') {
    deps.log.info({}, 'VENDING_CLOUD_TENANT_ID is not set: no vending worker');
    return undefined;
  }
  const config = parseVending(env, (path) => readFileSync(path, 'utf8'));
  return createVendingWorker({ ...deps, config, workflowBundle: builtBundle('vending') });
};

const consume = (
  { config, db, databaseUrl, log }: VendingWorkerDeps,
  { queues: storage }: VendingParts,
): (() => Promise<void>) | undefined => {
  if (storage === undefined) return undefined;
  const inbox = openInbox(db, databaseUrl, log);
  const jobs = createJobs(db, storage, {
    provisioning: storage.provisioning.name,
    deadLetter: storage.deadLetter.name,
  });
  const consumer = startConsumer({
    queue: storage.provisioning,
    deadLetterQueue: storage.deadLetter,
    processJob: createProcessJob({
      inbox,
      provision: createProvision(db, inbox),
      jobs,
      maxDeliveryCount: config.VENDING_QUEUE_MAX_DELIVERY_COUNT,
      waitMs: JOB_WAIT_MS,
    }),
    visibilitySeconds: config.VENDING_QUEUE_VISIBILITY_TIMEOUT,
    log,
  });
  return async () => {
    await consumer.stop();
    await inbox.stop();
  };
};
