import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Client, Connection } from '@temporalio/client';
import type { Knex } from 'knex';
import { createWebhookOutbound } from '../../activities/broker/webhook-outbound.js';
import { createEventBus } from '../../activities/broker/event-bus.js';
import { loadEnrollmentAuthority } from '../../activities/broker/enrollment-authority.js';
import { createKeyRing } from '../../activities/crypto/key-ring.js';
import { createBrokerGateway } from '../../api/broker/server.js';
import { serve } from '../../api/http/serve.js';
import type { RunningServer } from '../../api/http/serve.js';
import { createLogger } from '../../api/process/logger.js';
import { connectDatabase } from '../../db/connect.js';
import { systemClock } from '../../domain/clock.js';
import { parseSettings } from '../../domain/config/env.js';
import { svcSettings } from '../../domain/config/svc.js';
import type { SvcConfig } from '../../domain/config/svc.js';
import { createBrokerWorker } from '../../workers/broker.js';
import { createWebhookWorker } from '../../workers/webhooks.js';
import { startRelay } from '../../workers/relay.js';
import { runWorkers } from '../../workers/run.js';
import type { HttpClient } from './http.js';
import { httpClient } from './http.js';
import { testDatabase } from './postgres.js';
import { temporalServer, testBundle } from './temporal.js';

export const ADMIN_TOKEN = 'test-admin-token';

const baseConfig = `version: v1alpha1
machine:
  type: worker
  network: {}
cluster:
  id: test
`;

interface WorldOptions {
  /** Settings over the test defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Gateways on one store; default 1. */
  readonly gateways?: number;
  /** Temporal, the broker's worker and the relay; default false: most of the broker works without. */
  readonly worker?: boolean;
}

export interface BrokerWorld {
  readonly config: SvcConfig;
  readonly db: Knex;
  readonly databaseUrl: string;
  /** Base addresses of the gateways. */
  readonly urls: readonly string[];
  /** The first gateway, without credentials. */
  readonly node: HttpClient;
  /** The first gateway with the break-glass token. */
  readonly admin: HttpClient;
  readonly temporal: TestWorkflowEnvironment | undefined;
  readonly bus: ReturnType<typeof createEventBus>;
  readonly close: () => Promise<void>;
}

/** A running broker on real parts: PostgreSQL, HTTP ports and, when asked, a Temporal server with a worker. */
export const brokerWorld = async (options: WorldOptions = {}): Promise<BrokerWorld> => {
  const database = await testDatabase();
  const configDir = await mkdtemp(join(tmpdir(), 'keystead-configs-'));
  for (const role of ['controlplane', 'worker-infra', 'worker-app']) {
    await writeFile(join(configDir, `${role}-final.yaml`), baseConfig);
  }
  const config = parseSettings(
    svcSettings,
    {
      SVC_ADMIN_TOKEN: ADMIN_TOKEN,
      SVC_IAC_TOKEN: 'test-iac-token',
      SVC_CONFIG_CACHE_DIR: configDir,
      SVC_ENROLLMENT_CA_DIR: join(configDir, 'ca'),
      SVC_ISO_URL: 'https://images.test/node.iso',
      SVC_SHARED_SECRET_MASTER_KEY: randomBytes(32).toString('hex'),
      ...options.settings,
    },
    { readFile: () => '', strictPrefix: 'SVC_' },
  );
  const log = createLogger('test', process.env['TEST_LOG_LEVEL'] ?? 'silent');
  const keyRing = createKeyRing({ masterKey: config.SVC_SHARED_SECRET_MASTER_KEY, previousKeys: [] });
  const bus = createEventBus(log);
  const stops: (() => Promise<unknown>)[] = [() => database.drop(), () => rm(configDir, { recursive: true })];

  const temporal = options.worker === true ? await temporalServer() : undefined;
  if (temporal !== undefined) stops.push(() => temporal.teardown());
  const client = temporal?.client ?? new Client({ connection: Connection.lazy({ address: '127.0.0.1:9' }) });

  if (temporal !== undefined) {
    const broker = createBrokerWorker({
      ...{ config, db: database.db, client, bus, keyRing },
      workflowBundle: testBundle('broker'),
    });
    const outbound = createWebhookOutbound(config);
    const webhooks = createWebhookWorker({
      ...{ config, db: database.db, client, keyRing, outbound, clock: systemClock },
      workflowBundle: testBundle('broker'),
    });
    const workers = await runWorkers(temporal.nativeConnection, 'default', 100, [
      broker.worker,
      webhooks.worker,
    ]);
    const relay = startRelay({
      db: database.db,
      databaseUrl: database.url,
      log,
      handlers: broker.relayHandlers,
      senders: webhooks.relaySenders,
    });
    stops.push(broker.close, () => outbound.close(), workers.shutdown, relay.stop, bus.close);
  }

  const servers: RunningServer[] = [];
  for (let index = 0; index < (options.gateways ?? 1); index += 1) {
    const db =
      index === 0
        ? database.db
        : connectDatabase({ DATABASE_URL: database.url, DATABASE_POOL_MAX: 20 }, 'gw');
    const gateway = createBrokerGateway({
      ...{ config, db, temporal: client, log, keyRing },
      authority: await loadEnrollmentAuthority(db, config),
    });
    const server = await serve(gateway.app, { host: '127.0.0.1', port: 0, portSetting: 'SVC_PORT', log });
    servers.push(server);
    if (index > 0) stops.push(() => db.destroy());
    stops.push(gateway.close, server.close);
  }
  const urls = servers.map(({ port }) => `http://127.0.0.1:${port}`);
  const [first = ''] = urls;
  return {
    config,
    db: database.db,
    databaseUrl: database.url,
    urls,
    node: httpClient(first),
    admin: httpClient(first, { authorization: `Bearer ${ADMIN_TOKEN}` }),
    temporal,
    bus,
    close: async () => {
      for (const stop of stops.reverse()) await stop();
    },
  };
};
