import { startLocalCloud } from '../../scripts/local-cloud/server.js';
import { startAzurite } from '../../scripts/local-cloud/azurite.js';
import type { Logger } from '../../domain/logger.js';
import type { RunningProcess } from './processes.js';
import type { BenchDatabase, BenchWorld } from './world.js';

const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export interface VendingBench {
  readonly url: string;
  readonly gateway: RunningProcess;
  readonly database: BenchDatabase;
  readonly cloud: Awaited<ReturnType<typeof startLocalCloud>>;
  readonly env: Readonly<Record<string, string>>;
  readonly stop: () => Promise<void>;
}

/** A vending gateway with a database and a local cloud of its own, the latter inside the bench process. */
export const vendingGateway = async (
  world: BenchWorld,
  options: { readonly env?: Readonly<Record<string, string>>; readonly queues?: boolean } = {},
): Promise<VendingBench> => {
  const database = await world.database('vending');
  const cloud = await startLocalCloud({ dir: world.folder(), log: silent });
  const azurite =
    options.queues === true
      ? await startAzurite({ dir: world.folder(), port: await world.port() })
      : undefined;
  const port = await world.port();
  const env = {
    ...cloud.settings,
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    DATABASE_URL: database.url,
    VENDING_PORT: String(port),
    VENDING_EVENT_WAIT_SECONDS: '0',
    VENDING_MOCK_MODE: 'true',
    ...(azurite === undefined
      ? {}
      : { VENDING_RETRY_STRATEGY: 'queue', VENDING_STORAGE_CONNECTION_STRING: azurite.connectionString }),
    ...options.env,
  };
  const url = `http://127.0.0.1:${port}`;
  const gateway = await world.start('api/vending/main.js', { env, readyUrl: `${url}/readyz` });
  return {
    url,
    gateway,
    database,
    cloud,
    env,
    stop: async () => {
      await gateway.stop();
      await cloud.close();
      await azurite?.stop();
    },
  };
};

let counter = 0;

/** The body of a delivery with one new event. */
export const eventBody = (subscriptionId?: string): string => {
  counter += 1;
  const id = subscriptionId ?? `bench-${counter}`;
  return JSON.stringify([
    {
      id: `event-${counter}`,
      subject: `/subscriptions/${id}`,
      eventType: 'Microsoft.Resources.ResourceActionSuccess',
      eventTime: '2026-01-01T00:00:00Z',
      dataVersion: '2',
      data: { operationName: 'Microsoft.Subscription/aliases/write', resourceUri: `/subscriptions/${id}` },
    },
  ]);
};
