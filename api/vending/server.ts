import type Router from '@koa/router';
import type { Knex } from 'knex';
import type Koa from 'koa';
import { createDryRun } from '../../activities/vending/dry-run.js';
import { openInbox } from '../../activities/vending/inbox.js';
import { createJobs } from '../../activities/vending/jobs.js';
import { createVendingParts } from '../../activities/vending/parts.js';
import type { VendingParts, VendingPartsDeps } from '../../activities/vending/parts.js';
import { createProcessJob, fallbackJobId } from '../../activities/vending/process-job.js';
import { createProvision, createRunQueries } from '../../activities/vending/provision.js';
import { createReceiveEvents } from '../../activities/vending/receive-events.js';
import { pendingMigrations } from '../../db/migrate.js';
import { systemClock } from '../../domain/clock.js';
import type { TemporalConfig } from '../../domain/config/temporal.js';
import type { VendingConfig } from '../../domain/config/vending.js';
import type { Logger } from '../../domain/logger.js';
import { vendingBearer } from '../auth/vending-bearer.js';
import { createApp } from '../http/app.js';
import { jsonBody } from '../http/body.js';
import { createReadiness } from '../http/readiness.js';
import type { RequestState } from '../http/state.js';
import { openApiDocument } from '../openapi/document.js';
import { openApiPages } from '../openapi/pages.js';
import { workflowLink } from '../temporal/ui-link.js';
import { vendingOperations } from './operations.js';
import { jobRoutes, workerRoutes } from './routes/jobs.js';
import { provisioningRoutes } from './routes/provisioning.js';
import { runRoutes } from './routes/runs.js';
import { serviceRoutes } from './routes/service.js';
import { webhookRoutes } from './routes/webhook.js';
import type { VendingUseCases } from './use-cases.js';

export interface VendingGatewayDeps {
  readonly config: VendingConfig;
  readonly temporal: Pick<TemporalConfig, 'TEMPORAL_UI_URL' | 'TEMPORAL_NAMESPACE'>;
  readonly db: Knex;
  readonly databaseUrl: string;
  readonly log: Logger;
  /** The same list as the worker's, so that plans name the steps that run. */
  readonly extensions?: VendingPartsDeps['extensions'];
}

export interface VendingGateway {
  readonly app: Koa<RequestState>;
  readonly close: () => Promise<void>;
}

/** How long a queue reader waits: less than the default visibility timeout of its message. */
const JOB_WAIT_MS = 25_000;
const API_VERSION = '0.1.0';

/** The vending gateway as a Koa app; it listens nowhere yet. It needs the database only: Temporal may be away. */
export const createVendingGateway = (deps: VendingGatewayDeps): VendingGateway => {
  const { config, db, databaseUrl, log, extensions = [] } = deps;
  const parts = createVendingParts({ config, db, clock: systemClock, extensions });
  const inbox = openInbox(db, databaseUrl, log);
  const useCases = createUseCases(deps, parts, inbox);
  const bearer = vendingBearer(config, { outbound: parts.outbound, log });
  if (bearer === undefined) {
    log.warn({}, 'VENDING_API_IDP_TENANT_ID is not set: the API is open to everybody who reaches the port');
  }
  const routers = routersOf(deps, useCases);
  const app = createApp({
    log,
    trustedProxies: [],
    middleware: [
      ...(bearer === undefined ? [] : [bearer]),
      webhookRoutes(config, useCases).routes(),
      jsonBody(),
      ...routers.map((router) => router.routes()),
      ...routers.map((router) => router.allowedMethods()),
    ],
  });
  return {
    app,
    close: async () => {
      await inbox.stop();
      await parts.outbound.close();
    },
  };
};

const createUseCases = (
  { config, db, temporal }: VendingGatewayDeps,
  parts: VendingParts,
  inbox: ReturnType<typeof openInbox>,
): VendingUseCases => {
  const jobs = createJobs(db, parts.queues, {
    provisioning: config.VENDING_PROVISIONING_QUEUE_NAME,
    deadLetter: config.VENDING_PROVISIONING_DLQ_NAME,
  });
  const provision = createProvision(db, inbox);
  const nobody = () => Promise.resolve({ displayName: '', tags: {} });
  return {
    receiveEvents: createReceiveEvents({
      db,
      inbox,
      jobs,
      strategy: config.VENDING_RETRY_STRATEGY,
      waitMs: config.VENDING_EVENT_WAIT_SECONDS * 1000,
    }),
    preflight: createDryRun(parts),
    offlinePlan: createDryRun({ ...parts, gates: [], readSubscription: nobody }),
    provision,
    processJob: createProcessJob({
      inbox,
      provision,
      jobs,
      maxDeliveryCount: config.VENDING_QUEUE_MAX_DELIVERY_COUNT,
      waitMs: JOB_WAIT_MS,
    }),
    jobs,
    runs: createRunQueries(db),
    linkTo: (workflowId, runId) => workflowLink(temporal, workflowId, runId || undefined),
  };
};

const routersOf = (
  { config, db }: VendingGatewayDeps,
  useCases: VendingUseCases,
): readonly Router<RequestState>[] => {
  const withWorker = config.VENDING_RETRY_STRATEGY === 'queue';
  const document = openApiDocument({
    title: 'Subscription Vending',
    version: API_VERSION,
    description: 'Provisions new cloud subscriptions.',
    bearer: config.VENDING_API_IDP_TENANT_ID !== '',
    operations: vendingOperations({ worker: withWorker, mockMode: config.VENDING_MOCK_MODE }),
  });
  const readiness = createReadiness({
    database: async () => {
      const missing = await pendingMigrations(db);
      if (missing.length > 0) throw new Error(`migrations missing: ${missing.join(', ')}`);
      return undefined;
    },
  });
  const workerSecret = config.VENDING_WORKER_SECRET;
  return [
    serviceRoutes(config, readiness),
    openApiPages(document),
    provisioningRoutes({ workerSecret, mockMode: config.VENDING_MOCK_MODE }, useCases),
    ...(withWorker ? [workerRoutes(workerSecret, useCases, fallbackJobId)] : []),
    jobRoutes(useCases),
    runRoutes(useCases),
  ];
};
