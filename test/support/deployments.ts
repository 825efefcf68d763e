import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createKeyRing } from '../../activities/crypto/key-ring.js';
import { createIacUseCases } from '../../activities/iac/index.js';
import { iacDeps } from '../../activities/iac/deps.js';
import { createApp } from '../../api/http/app.js';
import { serve } from '../../api/http/serve.js';
import { createIacExtension } from '../../api/iac/extension.js';
import { systemClock } from '../../domain/clock.js';
import { parseSettings } from '../../domain/config/env.js';
import { svcSettings } from '../../domain/config/svc.js';
import { createDeploymentWorker } from '../../workers/deployments.js';
import { createIacOutboxHandlers } from '../../workers/iac-outbox.js';
import { startRelay } from '../../workers/relay.js';
import { runWorkers } from '../../workers/run.js';
import { eventually } from './eventually.js';
import { httpClient } from './http.js';
import { IAC_ORG, IAC_TOKEN, silent } from './iac.js';
import { testDatabase } from './postgres.js';
import { cliFolder } from './pulumi.js';
import { temporalServer, testBundle } from './temporal.js';

const MASTER_KEY = '42'.repeat(32);

interface Options {
  readonly settings?: Readonly<Record<string, string>>;
  /** Runs the worker of deployments in this process; default true. */
  readonly worker?: boolean;
}

/** The state backend with deployments: PostgreSQL, Temporal, the relay, a worker and the real CLI. */
export const deploymentWorld = async ({ settings = {}, worker = true }: Options = {}) => {
  const database = await testDatabase();
  const { db } = database;
  const workRoot = await mkdtemp(join(tmpdir(), 'keystead-work-'));
  const env = {
    SVC_IAC_TOKEN: IAC_TOKEN,
    SVC_IAC_ORG: IAC_ORG,
    SVC_SHARED_SECRET_MASTER_KEY: MASTER_KEY,
    SVC_IAC_WORK_DIR: workRoot,
    ...settings,
  };
  const config = parseSettings(svcSettings, env, { readFile: () => '' });
  const keyRing = createKeyRing({ masterKey: MASTER_KEY, previousKeys: [] });
  const useCases = createIacUseCases(iacDeps(config, { db, clock: systemClock, keyRing }));
  const app = createApp({
    log: silent,
    trustedProxies: [],
    middleware: [createIacExtension({ useCases, token: IAC_TOKEN, org: IAC_ORG })],
  });
  const server = await serve(app, { host: '127.0.0.1', port: 0, portSetting: 'SVC_PORT', log: silent });
  const url = `http://127.0.0.1:${server.port}`;
  const temporal = await temporalServer();
  const startWorker = async () => {
    const queue = await createDeploymentWorker({
      ...{ config, db, keyRing, log: silent, publicUrl: () => url, workflowBundle: testBundle('iac') },
      env: { PATH: [cliFolder('3.259.0'), process.env['PATH'] ?? ''].join(delimiter) },
    });
    return runWorkers(temporal.nativeConnection, 'default', 100, [queue]);
  };
  const workers = worker ? await startWorker() : undefined;
  const handlers = createIacOutboxHandlers(temporal.client);
  const relay = startRelay({ db, databaseUrl: database.url, log: silent, handlers });
  const api = httpClient(url, { authorization: `token ${IAC_TOKEN}` });

  const pathOf = (stack: string): string => `/api/stacks/${IAC_ORG}/${stack}`;
  return {
    url,
    api,
    db,
    databaseUrl: database.url,
    env,
    temporal,
    workRoot,
    pathOf,
    stack: async (name: string): Promise<void> => {
      const [project = '', stackName = ''] = name.split('/');
      const made = await api.post(`/api/stacks/${IAC_ORG}/${project}`, { stackName });
      if (made.status !== 200) throw new Error(made.text);
    },
    deploy: async (stack: string, body: object): Promise<string> => {
      const answer = await api.post(`${pathOf(stack)}/deployments`, body);
      if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
      return answer.body.id as string;
    },
    look: async (stack: string, id: string) => (await api.get(`${pathOf(stack)}/deployments/${id}`)).body,
    /** The deployment when it is over. */
    over: (stack: string, id: string, withinMs = 90_000) =>
      eventually(async () => {
        const { body } = await api.get(`${pathOf(stack)}/deployments/${id}`);
        return ['succeeded', 'failed', 'cancelled'].includes(body.status as string) ? body : undefined;
      }, withinMs),
    close: async () => {
      await relay.stop();
      await workers?.shutdown();
      await temporal.teardown();
      await server.close();
      await database.drop();
      await rm(workRoot, { recursive: true, force: true });
    },
  };
};
export type DeploymentWorld = Awaited<ReturnType<typeof deploymentWorld>>;
