import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunningProcess } from '../../bench/support/processes.js';
import { startProcess } from '../../bench/support/processes.js';
import { freePort } from '../../scripts/stack/ports.js';
import { ensureBuilt } from '../../scripts/tools/built.mjs';
import { packageRoot } from '../../scripts/tools/paths.mjs';

/** A built program that can be killed and started again with the same settings. */
export interface Restartable {
  readonly current: () => RunningProcess;
  /** `kill -9`, by pid. */
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export interface Gateway extends Restartable {
  readonly url: string;
}

type Env = Readonly<Record<string, string>>;

const restartable = async (begin: () => Promise<RunningProcess>): Promise<Restartable> => {
  let current = await begin();
  return {
    current: () => current,
    kill: async () => {
      await current.kill('SIGKILL');
    },
    start: async () => {
      current = await begin();
    },
    stop: async () => {
      await current.stop();
    },
  };
};

const entry = (path: string): string => join(packageRoot(), 'dist', path);

/** dist/ as the sources are now; call it before the first process. */
export const buildOnce = (): Promise<void> => ensureBuilt(packageRoot(), { log: () => undefined });

/** Settings that every gateway and worker wants and no test is about. */
const required = (env: Env): Env => ({
  SVC_IAC_TOKEN: 'test-iac-token',
  ...(env['SVC_CONFIG_CACHE_DIR'] === undefined
    ? {}
    : { SVC_ENROLLMENT_CA_DIR: join(env['SVC_CONFIG_CACHE_DIR'], 'ca') }),
  ...env,
});

export const startGateway = async (env: Env): Promise<Gateway> => {
  const port = await freePort(0);
  const url = `http://127.0.0.1:${port}`;
  const process = await restartable(() =>
    startProcess({
      entry: entry('api/broker/main.js'),
      env: { ...required(env), SVC_PORT: String(port) },
      readyUrl: `${url}/readyz`,
    }),
  );
  return { ...process, url };
};

export const startWorkers = (env: Env): Promise<Restartable> =>
  restartable(() =>
    startProcess({ entry: entry('workers/main.js'), env: required(env), readyText: '"msg":"workers run"' }),
  );

/** A folder of base configs for the roles; `remove` when done. */
export const roleConfigFolder = (): { readonly path: string; readonly remove: () => void } => {
  const path = mkdtempSync(join(tmpdir(), 'keystead-configs-'));
  const text = 'version: v1alpha1\nmachine:\n  type: worker\n  network: {}\ncluster:\n  id: test\n';
  for (const role of ['controlplane', 'worker-infra', 'worker-app'])
    writeFileSync(join(path, `${role}-final.yaml`), text);
  return { path, remove: () => rmSync(path, { recursive: true }) };
};
