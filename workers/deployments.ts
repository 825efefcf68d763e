import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Knex } from 'knex';
import type { KeyRing } from '../activities/crypto/key-ring.js';
import { iacDeps } from '../activities/iac/deps.js';
import { sweepWorkFolders } from '../activities/iac/deployments/work-folder.js';
import { createDeploymentActivities } from '../activities/iac/index.js';
import { systemClock } from '../domain/clock.js';
import type { Env } from '../domain/config/env.js';
import type { SvcConfig } from '../domain/config/svc.js';
import type { Logger } from '../domain/logger.js';
import { queues } from '../workflows/queues.js';
import type { QueueWorker } from './run.js';

/** What a run gets of the worker's environment, when it is set: certificates, proxies, the time zone. */
const INHERITED = [
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'TZ'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
] as const;

const MEBIBYTE = 1_048_576;
/** A cancellation reaches the CLI with a heartbeat, so heartbeats are not held back. */
const HEARTBEAT_EVERY = '1 second';

interface DeploymentWorkerDeps {
  readonly config: SvcConfig;
  readonly db: Knex;
  readonly keyRing: KeyRing;
  readonly log: Logger;
  readonly env: Env;
  readonly workflowBundle: NonNullable<QueueWorker['workflowBundle']>;
  /** Default: `SVC_SERVICE_URL`. */
  readonly publicUrl?: () => string;
}

/** The queue `deployments`: runs of the IaC CLI. Removes first what a killed worker left behind. */
export const createDeploymentWorker = async (deps: DeploymentWorkerDeps): Promise<QueueWorker> => {
  const { config, db, keyRing, env, log } = deps;
  const workRoot = config.SVC_IAC_WORK_DIR || join(tmpdir(), 'keystead-deployments');
  const removed = await sweepWorkFolders(workRoot);
  if (removed.length > 0) log.warn({ removed }, 'removed what earlier deployments left behind');
  const inherited = INHERITED.flatMap((name) =>
    env[name] === undefined ? [] : [[name, env[name]] as const],
  );
  return {
    queue: queues.deployments,
    workflowBundle: deps.workflowBundle,
    activities: createDeploymentActivities({
      ...iacDeps(config, { db, clock: systemClock, keyRing }),
      publicUrl: deps.publicUrl ?? (() => config.SVC_SERVICE_URL),
      cli: config.SVC_IAC_CLI,
      path: env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
      inherited: Object.fromEntries(inherited),
      workRoot,
      timeoutMs: config.SVC_IAC_DEPLOYMENT_TIMEOUT_SECONDS * 1_000,
      graceMs: config.SVC_IAC_DEPLOYMENT_GRACE_SECONDS * 1_000,
      maxLogBytes: config.SVC_IAC_DEPLOYMENT_LOG_MB * MEBIBYTE,
      maxDiskBytes: config.SVC_IAC_DEPLOYMENT_DISK_MB * MEBIBYTE,
    }),
    options: {
      maxConcurrentActivityTaskExecutions: config.SVC_IAC_DEPLOYMENT_CONCURRENCY,
      defaultHeartbeatThrottleInterval: HEARTBEAT_EVERY,
      maxHeartbeatThrottleInterval: HEARTBEAT_EVERY,
    },
  };
};
