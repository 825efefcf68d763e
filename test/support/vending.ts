import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { RegisteredStep } from '../../activities/vending/step.js';
import { createVendingGateway } from '../../api/vending/server.js';
import { parseVending } from '../../domain/config/vending.js';
import { runWorkers } from '../../workers/run.js';
import { createVendingWorker } from '../../workers/vending.js';
import { ticketSettings } from '../../scripts/local-cloud/server.js';
import { testCloud } from './local-cloud.js';
import type { TestCloud } from './local-cloud.js';
import { silentLog } from './log.js';
import { testDatabase } from './postgres.js';
import type { TestDatabase } from './postgres.js';
import { temporalServer, testBundle } from './temporal.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into whatever was answered
  readonly body: any;
}

export interface GatewayHandle {
  readonly url: string;
  readonly request: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

/** A vending gateway on a free port. */
export const vendingGateway = async (
  database: TestDatabase,
  settings: Readonly<Record<string, string>>,
  extensions: readonly RegisteredStep[] = [],
): Promise<GatewayHandle> => {
  const gateway = createVendingGateway({
    config: parseVending(settings, () => ''),
    temporal: { TEMPORAL_UI_URL: 'http://127.0.0.1:8233', TEMPORAL_NAMESPACE: 'default' },
    db: database.db,
    databaseUrl: database.url,
    log: silentLog,
    extensions,
  });
  const server = createServer(gateway.app.callback() as never);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    request: async (method, path, body, headers = {}) => {
      const answer = await fetch(url + path, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        redirect: 'manual',
      });
      const text = await answer.text();
      let parsed: unknown;
      try {
        parsed = JSON.parse(text);
      } catch {
        parsed = undefined;
      }
      return { status: answer.status, headers: answer.headers, text, body: parsed };
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await gateway.close();
    },
  };
};

/** Workers of the vending queue against a Temporal server; with the relay and, when switched on, the consumer. */
export const vendingWorkers = async (
  temporal: { readonly client: Client; readonly address: string; readonly namespace?: string | undefined },
  database: TestDatabase,
  settings: Readonly<Record<string, string>>,
  extensions: readonly RegisteredStep[] = [],
): Promise<{ stop: () => Promise<void> }> => {
  const connection = await NativeConnection.connect({ address: temporal.address });
  const vending = createVendingWorker({
    config: parseVending(settings, () => ''),
    db: database.db,
    databaseUrl: database.url,
    client: temporal.client,
    log: silentLog,
    workflowBundle: testBundle('vending'),
    extensions,
  });
  const workers = await runWorkers(connection, temporal.namespace ?? 'default', 100, [vending.worker]);
  const stop = vending.start();
  return {
    stop: async () => {
      await stop();
      await workers.shutdown();
      await connection.close();
    },
  };
};

export interface VendingWorld {
  readonly cloud: TestCloud;
  readonly database: TestDatabase;
  readonly temporal: TestWorkflowEnvironment;
  readonly gateway: GatewayHandle;
  readonly settings: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
}

interface WorldOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly tickets?: boolean;
  readonly extensions?: readonly RegisteredStep[];
  /** Switches both notices on, received by the local cloud. */
  readonly notices?: { readonly webhookSecret: string; readonly apiToken: string };
}

/** Everything real: database, Temporal server, worker, gateway; and the local cloud. */
export const vendingWorld = async ({
  settings: extra = {},
  tickets = false,
  extensions = [],
  notices,
}: WorldOptions = {}): Promise<VendingWorld> => {
  const [cloud, database, temporal] = await Promise.all([testCloud(), testDatabase(), temporalServer()]);
  const settings = {
    ...cloud.settings,
    ...(tickets ? ticketSettings(cloud.origin) : {}),
    ...noticeSettings(cloud.origin, notices),
    ...extra,
  };
  const address = temporal.address;
  const workers = await vendingWorkers({ client: temporal.client, address }, database, settings, extensions);
  const gateway = await vendingGateway(database, settings, extensions);
  return {
    cloud,
    database,
    temporal,
    gateway,
    settings,
    close: async () => {
      await gateway.close();
      await workers.stop();
      await temporal.teardown();
      await database.drop();
      await cloud.stop();
    },
  };
};

const noticeSettings = (origin: string, notices: WorldOptions['notices']): Record<string, string> =>
  notices === undefined
    ? {}
    : {
        VENDING_WEBHOOK_URL: `${origin}/notices/webhook`,
        VENDING_WEBHOOK_SECRET: notices.webhookSecret,
        VENDING_API_NOTIFY_URL: `${origin}/notices/api`,
        VENDING_API_NOTIFY_TOKEN: notices.apiToken,
      };

let counter = 0;

/** A subscription-created event as the delivery service sends it. */
export const createdEvent = (subscriptionId: string, data: object = {}, id?: string) => {
  counter += 1;
  return {
    id: id ?? `event-${counter}-${subscriptionId}`,
    topic: '/providers/Microsoft.Subscription',
    subject: `/subscriptions/${subscriptionId}`,
    eventType: 'Microsoft.Resources.ResourceActionSuccess',
    eventTime: '2026-01-01T00:00:00Z',
    dataVersion: '2',
    data: {
      operationName: 'Microsoft.Subscription/aliases/write',
      resourceUri: `/subscriptions/${subscriptionId}`,
      status: 'Succeeded',
      ...data,
    },
  };
};
