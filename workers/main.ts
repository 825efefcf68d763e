import { NativeConnection, Runtime } from '@temporalio/worker';
import { createWebhookOutbound } from '../activities/broker/webhook-outbound.js';
import { createEventBus } from '../activities/broker/event-bus.js';
import { createKeyRing } from '../activities/crypto/key-ring.js';
import { environment, loadSettings } from '../api/process/environment.js';
import { createLogger } from '../api/process/logger.js';
import { retryUntilUp, runProcess } from '../api/process/run.js';
import { connectTemporal, connectionOptions } from '../api/temporal/client.js';
import { ensureRetentionSchedule } from '../api/temporal/schedules.js';
import { ensureSearchAttributes } from '../api/temporal/search-attributes.js';
import { connectDatabase } from '../db/connect.js';
import { migrate } from '../db/migrate.js';
import { systemClock } from '../domain/clock.js';
import { databaseSettings } from '../domain/config/database.js';
import { logSettings } from '../domain/config/log.js';
import { svcSettings } from '../domain/config/svc.js';
import { temporalSettings } from '../domain/config/temporal.js';
import { createBrokerWorker } from './broker.js';
import { createDeploymentWorker } from './deployments.js';
import { createIacWorker } from './iac.js';
import { runtimeLogger } from './logger.js';
import { startRelay } from './relay.js';
import { builtBundle, runWorkers } from './run.js';
import { sdkMetrics } from './sdk-metrics.js';
import { createWebhookWorker } from './webhooks.js';
import { vendingWorkerOf } from './vending.js';

const env = environment(process.env);
const log = createLogger('workers', env['LOG_LEVEL'] ?? 'info');
Runtime.install({
  logger: runtimeLogger(log),
  shutdownSignals: [],
  ...sdkMetrics(env['TEMPORAL_METRICS_ADDRESS']),
});

await runProcess(log, async ({ onStop, watch }) => {
  const settings = loadSettings(
    { ...svcSettings, ...databaseSettings, ...temporalSettings, ...logSettings },
    env,
    'SVC_',
  );
  const db = connectDatabase(settings, 'workers');
  onStop(() => db.destroy());
  await retryUntilUp(log, 'database', () => migrate(db));

  const connection = await retryUntilUp(log, 'Temporal server', () =>
    NativeConnection.connect(connectionOptions(settings)),
  );
  onStop(() => connection.close());
  const temporal = connectTemporal(settings);
  onStop(() => temporal.close());
  const { client } = temporal;
  const namespace = settings.TEMPORAL_NAMESPACE;
  const added = await ensureSearchAttributes(temporal.connection, namespace);
  if (added.length > 0) log.info({ added }, 'search attributes registered');

  const bus = createEventBus(log);
  onStop(bus.close);
  const keyRing = createKeyRing({
    masterKey: settings.SVC_SHARED_SECRET_MASTER_KEY,
    passphrase: settings.SVC_SHARED_SECRET_PASSPHRASE,
    previousKeys: settings.SVC_SHARED_SECRET_PREVIOUS_KEYS,
  });
  const broker = createBrokerWorker({
    config: settings,
    db,
    client,
    bus,
    keyRing,
    workflowBundle: builtBundle('broker'),
  });
  onStop(broker.close);
  const vending = vendingWorkerOf(env, { db, databaseUrl: settings.DATABASE_URL, client, log });
  const iac = createIacWorker({ config: settings, db, client, keyRing, workflowBundle: builtBundle('iac') });
  const outbound = createWebhookOutbound(settings);
  onStop(() => outbound.close());
  const webhooks = createWebhookWorker({
    config: settings,
    db,
    client,
    clock: systemClock,
    keyRing,
    outbound,
    workflowBundle: builtBundle('broker'),
  });
  await ensureRetentionSchedule(client);
  const deployments = await createDeploymentWorker({
    ...{ config: settings, db, keyRing, log, env },
    workflowBundle: builtBundle('iac'),
  });
  const all = [
    broker.worker,
    webhooks.worker,
    iac.worker,
    deployments,
    ...(vending === undefined ? [] : [vending.worker]),
  ];
  const workers = await runWorkers(connection, namespace, settings.TEMPORAL_MAX_CACHED_WORKFLOWS, all);
  onStop(workers.shutdown);
  watch(workers.stopped);
  const relay = startRelay({
    db,
    databaseUrl: settings.DATABASE_URL,
    log,
    handlers: { ...broker.relayHandlers, ...iac.relayHandlers },
    senders: webhooks.relaySenders,
  });
  onStop(relay.stop);
  if (vending !== undefined) onStop(vending.start());
  log.info({ queues: all.map(({ queue }) => queue) }, 'workers run');
});
