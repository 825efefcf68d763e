import { join } from 'node:path';
import type { StackConfig } from '../../domain/config/stack.js';
import { startEmbeddedPostgres } from '../tools/embedded-postgres.mjs';
import type { Part } from './child.js';
import { inProcess } from './child.js';
import type { StackAddresses } from './data-dir.js';
import { ensureDatabase } from './database.js';
import { startImageFactory } from './image-factory.js';
import { DEFAULT_AUDIENCE, startOidcIssuer } from './oidc/issuer.js';
import { freePort } from './ports.js';
import { startTemporal } from './temporal.js';

type Print = (line: string) => void;
export type ServiceEnv = Readonly<Record<string, string>>;

/** A part of the system, and what the services must know of it. */
export interface Provided {
  readonly env: ServiceEnv;
  /** Absent when somebody else runs it. */
  readonly part?: Part;
}

const DATABASE_NAME = 'keystead';

export const providePostgres = async (config: StackConfig, dataDir: string): Promise<Provided> => {
  if (config.DATABASE_URL !== undefined) return { env: { DATABASE_URL: config.DATABASE_URL } };
  const server = await startEmbeddedPostgres({
    dataDir: join(dataDir, 'postgres'),
    port: config.PGPORT,
    ownGroup: true,
  });
  let stopping = false;
  const failed = new Promise<never>((_resolve, reject) => {
    server.process.once('exit', (code) => {
      if (!stopping) reject(new Error(`PostgreSQL stopped by itself (exit code ${code ?? 'unknown'})`));
    });
  });
  failed.catch(() => undefined);
  const stop = async () => {
    stopping = true;
    await server.stop();
  };
  return {
    env: { DATABASE_URL: await ensureDatabase(server.url, DATABASE_NAME) },
    part: { title: 'PostgreSQL', failed, stop },
  };
};

export const provideTemporal = async (
  config: StackConfig,
  dataDir: string,
  namespace: string,
  print: Print,
): Promise<Provided> => {
  if (config.TEMPORAL_ADDRESS !== undefined) return { env: { TEMPORAL_ADDRESS: config.TEMPORAL_ADDRESS } };
  const { TEMPORAL_PORT: port, TEMPORAL_UI_PORT: uiPort } = config;
  const file = join(dataDir, 'temporal.db');
  return {
    env: { TEMPORAL_ADDRESS: `127.0.0.1:${port}`, TEMPORAL_UI_URL: `http://127.0.0.1:${uiPort}` },
    part: await startTemporal({ port, uiPort, namespace, file }, print),
  };
};

/** The issuer is named in its tokens: it comes back on the port it had, as long as that is free. */
export const provideIssuer = async (
  config: StackConfig,
  dataDir: string,
  before: StackAddresses | undefined,
): Promise<Provided> => {
  if (config.SVC_OIDC_ISSUER !== undefined) return { env: { SVC_OIDC_ISSUER: config.SVC_OIDC_ISSUER } };
  const port = await freePort(before?.oidcPort ?? config.STACK_OIDC_PORT);
  const issuer = await startOidcIssuer({ port, keysFile: join(dataDir, 'oidc-keys.json') });
  return {
    env: { SVC_OIDC_ISSUER: issuer.url, SVC_OIDC_AUDIENCE: DEFAULT_AUDIENCE },
    part: inProcess('OpenID issuer', issuer.stop),
  };
};

export const provideFactory = async (
  config: StackConfig,
  dataDir: string,
  before: StackAddresses | undefined,
): Promise<Provided> => {
  if (config.SVC_FACTORY_URL !== undefined) return { env: { SVC_FACTORY_URL: config.SVC_FACTORY_URL } };
  const port = await freePort(before?.factoryPort ?? config.STACK_FACTORY_PORT);
  const factory = await startImageFactory({ port, folder: join(dataDir, 'schematics') });
  return { env: { SVC_FACTORY_URL: factory.url }, part: inProcess('image factory', factory.stop) };
};
