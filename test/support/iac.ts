import type { Clock } from '../../domain/clock.js';
import { systemClock } from '../../domain/clock.js';
import type { Logger } from '../../domain/logger.js';
import { createKeyRing } from '../../activities/crypto/key-ring.js';
import type { IacDeps } from '../../activities/iac/deps.js';
import { createIacUseCases } from '../../activities/iac/index.js';
import { createApp } from '../../api/http/app.js';
import { serve } from '../../api/http/serve.js';
import { createIacExtension } from '../../api/iac/extension.js';
import { testDatabase } from './postgres.js';
import type { TestDatabase } from './postgres.js';

export const IAC_TOKEN = 'test-iac-token';
export const IAC_ORG = 'acme';

export const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** Keeps what was logged as errors: a test that expects no 5xx can say why there was one. */
export const errorCollector = () => {
  const errors: unknown[] = [];
  const log: Logger = { ...silent, error: (fields) => errors.push(fields) };
  return { log, errors };
};

interface WorldOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly deps?: Partial<IacDeps>;
}

export interface IacWorld {
  readonly url: string;
  readonly database: TestDatabase;
  readonly deps: IacDeps;
  readonly useCases: ReturnType<typeof createIacUseCases>;
  readonly close: () => Promise<void>;
}

/** The state backend alone, on a port and a database of its own. */
export const iacWorld = async ({
  clock = systemClock,
  log = silent,
  deps: more = {},
}: WorldOptions = {}): Promise<IacWorld> => {
  const database = await testDatabase();
  const deps: IacDeps = {
    db: database.db,
    clock,
    keyRing: createKeyRing({ masterKey: '42'.repeat(32), previousKeys: [] }),
    org: IAC_ORG,
    keepVersions: 50,
    maxStateBytes: 64 * 1_048_576,
    deletedStackDays: 7,
    sources: { allowFile: false, allowedCidrs: [], caFile: undefined },
    ...more,
  };
  const useCases = createIacUseCases(deps);
  const app = createApp({
    log,
    trustedProxies: [],
    middleware: [createIacExtension({ useCases, token: IAC_TOKEN, org: IAC_ORG })],
  });
  const server = await serve(app, { host: '127.0.0.1', port: 0, portSetting: 'SVC_PORT', log });
  return {
    url: `http://127.0.0.1:${server.port}`,
    database,
    deps,
    useCases,
    close: async () => {
      await server.close();
      await database.drop();
    },
  };
};
