import { join } from 'node:path';
import type { Env } from '../../domain/config/env.js';
import type { StackConfig } from '../../domain/config/stack.js';
import type { Logger } from '../../domain/logger.js';
import { startAzurite } from '../local-cloud/azurite.js';
import { startLocalCloud } from '../local-cloud/server.js';
import { inProcess } from './child.js';
import type { StackAddresses } from './data-dir.js';
import type { Provided } from './infrastructure.js';
import { freePort } from './ports.js';

/** Where the local cloud is; not set when a real one is used. */
export const LOCAL_CLOUD_VARIABLE = 'STACK_CLOUD_URL';
const EXAMPLE_POLICY = {
  name: 'require-owner-tag',
  display_name: 'Require an owner tag',
  definition_id: '/providers/Microsoft.Authorization/policyDefinitions/871b6d14-10aa-478d-b590-94f262ecfa99',
};

/** The simulated cloud and its queues; it tells the vending gateway about new subscriptions once that is up. */
export const provideCloud = async (
  config: StackConfig,
  dataDir: string,
  before: StackAddresses | undefined,
  options: { readonly env: Env; readonly print: (line: string) => void },
): Promise<Provided> => {
  if (config.VENDING_CLOUD_TENANT_ID !== undefined) return { env: {} };
  const port = await freePort(before?.cloudPort ?? config.STACK_CLOUD_PORT);
  const queuePort = await freePort(before?.queuePort ?? config.STACK_QUEUE_PORT);
  const azurite = await startAzurite({ dir: join(dataDir, 'azurite'), port: queuePort });
  const cloud = await startLocalCloud({ dir: join(dataDir, 'cloud'), port, log: linesTo(options.print) });
  cloud.announceTo({
    name: 'vending',
    endpoint: `http://127.0.0.1:${config.VENDING_PORT}/webhook/`,
    sasKey: config.VENDING_EVENT_SAS_KEY ?? '',
  });
  const part = inProcess('local cloud', async () => {
    await cloud.close();
    await azurite.stop();
  });
  const settings: Record<string, string> = {
    ...cloud.settings,
    VENDING_STORAGE_CONNECTION_STRING: azurite.connectionString,
    VENDING_QUEUE_CONSUMER: 'true',
    VENDING_DEFAULT_POLICIES: JSON.stringify([EXAMPLE_POLICY]),
  };
  return {
    env: {
      ...Object.fromEntries(Object.entries(settings).filter(([name]) => !options.env[name])),
      [LOCAL_CLOUD_VARIABLE]: cloud.origin,
    },
    part: { ...part, failed: Promise.race([part.failed, azurite.failed]) },
  };
};

const linesTo = (print: (line: string) => void): Logger => ({
  debug: () => undefined,
  info: (_, message) => print(`cloud: ${message}`),
  warn: (_, message) => print(`cloud: ${message}`),
  error: (_, message) => print(`cloud: ${message}`),
});
