import { join } from 'node:path';
import type { Env } from '../../domain/config/env.js';
import { svcSettings } from '../../domain/config/svc.js';
import type { Part } from './child.js';
import { startChild } from './child.js';
import { portsInUse, stackConfig } from './config.js';
import type { StackSecrets } from './data-dir.js';
import {
  loadAddresses,
  loadSecrets,
  openDataDir,
  storeAddresses,
  storeServiceEnvironment,
} from './data-dir.js';
import type { ServiceEnv } from './infrastructure.js';
import { LOCAL_CLOUD_VARIABLE, provideCloud } from './cloud.js';
import { provideFactory, provideIssuer, providePostgres, provideTemporal } from './infrastructure.js';
import { requireFreePorts } from './ports.js';
import { ensureRoleConfigs } from './role-configs.js';
import type { Service } from './services.js';
import { servicesOf } from './services.js';
import { answersOk, waitUntil } from './wait.js';

export interface Stack {
  /** What the services got, for the summary and the demo. */
  readonly env: ServiceEnv;
  readonly services: readonly Service[];
  readonly dataDir: string;
  /** Rejects when a part ends by itself. */
  readonly failed: Promise<never>;
  /** Stops everything in the reverse order of the start. */
  readonly stop: () => Promise<void>;
}

export interface StackOptions {
  readonly env: Env;
  readonly distDir: string;
  readonly print: (line: string) => void;
  /** Tells what is being waited for. */
  readonly step: <T>(title: string, work: Promise<T>) => Promise<T>;
}

const READY_MS = 60_000;

/** Names that mean something to this script only; a service would refuse them as unknown. */
const notForServices = new Set(['STACK_DATA_DIR', 'PGPORT', 'TEMPORAL_PORT', 'TEMPORAL_UI_PORT']);

const withoutStackNames = (env: Env): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !notForServices.has(name) && !name.startsWith('STACK_')),
  );

const given = (env: Env, name: string): boolean => Boolean(env[name]) || Boolean(env[`${name}_FILE`]);

/** What a newcomer need not set: tokens and keys made once, folders below the data folder, open webhooks on loopback. */
const localDefaults = async (
  env: Env,
  dataDir: string,
  svcPort: number,
  secrets: StackSecrets,
): Promise<Record<string, string>> => {
  const defaults: Record<string, string> = {
    SVC_SERVICE_URL: `http://127.0.0.1:${svcPort}`,
    SVC_CONFIG_CACHE_DIR: join(dataDir, 'configs'),
    SVC_ENROLLMENT_CA_DIR: join(dataDir, 'ca'),
    SVC_ADMIN_TOKEN: secrets.adminToken,
    SVC_IAC_TOKEN: secrets.iacToken,
    SVC_SHARED_SECRET_MASTER_KEY: secrets.masterKey,
    SVC_DUAL_CONTROL_ROLES: 'controlplane',
    SVC_WEBHOOK_ALLOW_HTTP: 'true',
    SVC_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8,::1/128',
  };
  if (env['SVC_CONFIG_CACHE_DIR'] === undefined) await ensureRoleConfigs(join(dataDir, 'configs'));
  return Object.fromEntries(
    Object.entries(defaults).filter(([name]) => name in svcSettings && !given(env, name)),
  );
};

const startServices = async (
  services: readonly Service[],
  parts: Part[],
  { print, step }: StackOptions,
): Promise<void> => {
  const started = services.map((service) => ({ service, part: startChild(service, print) }));
  parts.push(...started.map(({ part }) => part));
  await Promise.all(
    started.map(async ({ service: { title, readyUrl }, part }) => {
      if (readyUrl === undefined) return;
      const ready = waitUntil(`the ${title}`, () => answersOk(readyUrl), READY_MS);
      await step(`starting the ${title}`, Promise.race([ready, part.failed]));
    }),
  );
};

const stopAll = async (parts: readonly Part[], print: (line: string) => void): Promise<void> => {
  for (const part of [...parts].reverse()) {
    await part.stop();
    print(`stopped: ${part.title}`);
  }
};

const startInfrastructure = async (
  options: StackOptions,
  dataDir: string,
  parts: Part[],
): Promise<ServiceEnv> => {
  const { env, print, step } = options;
  const config = stackConfig(env);
  await requireFreePorts(portsInUse(config));
  const before = await loadAddresses(dataDir);
  const namespace = env['TEMPORAL_NAMESPACE'] ?? 'default';
  const results = await Promise.allSettled([
    step('starting PostgreSQL', providePostgres(config, dataDir)),
    step('starting the Temporal server', provideTemporal(config, dataDir, namespace, print)),
    step('starting the OpenID issuer', provideIssuer(config, dataDir, before)),
    step('starting the image factory', provideFactory(config, dataDir, before)),
    step('starting the local cloud', provideCloud(config, dataDir, before, options)),
  ]);
  const provided = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  parts.push(...provided.flatMap(({ part }) => (part === undefined ? [] : [part])));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  const all: ServiceEnv = Object.fromEntries(provided.flatMap((part) => Object.entries(part.env)));
  await storeAddresses(dataDir, {
    oidcIssuer: all['SVC_OIDC_ISSUER'],
    oidcPort: portOf(all['SVC_OIDC_ISSUER']) ?? config.STACK_OIDC_PORT,
    factoryPort: portOf(all['SVC_FACTORY_URL']) ?? config.STACK_FACTORY_PORT,
    cloudPort: portOf(all[LOCAL_CLOUD_VARIABLE]),
    queuePort: portOf(/QueueEndpoint=([^;]+)/.exec(all['VENDING_STORAGE_CONNECTION_STRING'] ?? '')?.[1]),
  });
  return all;
};

const portOf = (url: string | undefined): number | undefined => {
  const port = url === undefined ? 0 : Number(new URL(url).port);
  return port === 0 ? undefined : port;
};

/** Starts everything; when a part does not come up, stops the others again and throws. */
export const startStack = async (options: StackOptions): Promise<Stack> => {
  const { env, print, distDir } = options;
  const config = stackConfig(env);
  const dataDir = await openDataDir(config.STACK_DATA_DIR);
  const parts: Part[] = [];
  try {
    const infrastructure = await startInfrastructure(options, dataDir, parts);
    const defaults = await localDefaults(env, dataDir, config.SVC_PORT, await loadSecrets(dataDir));
    const serviceEnv = { ...defaults, ...withoutStackNames(env), ...infrastructure };
    await storeServiceEnvironment(dataDir, { ...defaults, ...infrastructure });
    const services = servicesOf({
      distDir,
      svcPort: config.SVC_PORT,
      vendingPort: config.VENDING_PORT,
      env: serviceEnv,
    });
    await startServices(services, parts, options);
    return {
      env: serviceEnv as ServiceEnv,
      services,
      dataDir,
      failed: Promise.race(parts.map((part) => part.failed)),
      stop: () => stopAll(parts, print),
    };
  } catch (error) {
    await stopAll(parts, print);
    throw error;
  }
};
