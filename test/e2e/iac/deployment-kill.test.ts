import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deploymentWorld } from '../../support/deployments.js';
import type { DeploymentWorld } from '../../support/deployments.js';
import { eventually, eventuallyHolds } from '../../support/eventually.js';
import { gitServer } from '../../support/git-server.js';
import { cliFolder, stashProgram } from '../../support/pulumi.js';

const root = resolve(import.meta.dirname, '../../..');

/** The built worker as a process of its own, killed with -9 while a deployment runs. */
describe('a worker that dies during a deployment', () => {
  let world: DeploymentWorld;
  let git: Awaited<ReturnType<typeof gitServer>>;
  let repoUrl: string;
  const children: ChildProcess[] = [];

  beforeAll(async () => {
    git = await gitServer();
    world = await deploymentWorld({
      worker: false,
      settings: { SVC_IAC_SOURCE_CIDRS: '127.0.0.0/8', SVC_IAC_SOURCE_CA_FILE: git.caFile },
    });
    repoUrl = await git.repository('shop', { 'Pulumi.yaml': stashProgram('shop', 1) });
  }, 120_000);
  afterAll(async () => {
    for (const child of children) child.kill('SIGKILL');
    await world.close();
    await git.close();
  });

  const startWorker = (settings: Record<string, string> = {}): ChildProcess => {
    const child = spawn(process.execPath, [join(root, 'dist/workers/main.js')], {
      cwd: world.workRoot,
      env: {
        ...world.env,
        PATH: [cliFolder('3.259.0'), process.env['PATH'] ?? ''].join(delimiter),
        HOME: world.workRoot,
        DATABASE_URL: world.databaseUrl,
        TEMPORAL_ADDRESS: world.temporal.address,
        SVC_ADMIN_TOKEN: 'test-admin-token',
        SVC_SERVICE_URL: world.url,
        LOG_LEVEL: 'error',
        ...settings,
      },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    children.push(child);
    return child;
  };
  const body = (...preRunCommands: string[]) => ({
    operation: 'update',
    operationContext: {
      preRunCommands,
      environmentVariables: { PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: 'true' },
    },
    sourceContext: { git: { repoUrl, branch: 'main' } },
  });
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch {
      return false;
    }
  };

  it('fails it once, kills its programs, removes its folder, and goes on with the next', async () => {
    await world.stack('shop/killed');
    const marks = join(world.workRoot, 'marks');
    const worker = startWorker();
    const first = await world.deploy('shop/killed', body(`echo $$ >> ${marks}; echo begun; sleep 600`));
    const second = await world.deploy('shop/killed', body());
    await eventually(
      async () => ((await world.look('shop/killed', first)).logs as string).includes('\nbegun') || undefined,
      60_000,
    );
    worker.kill('SIGKILL');
    await once(worker, 'exit');
    const program = Number(await readFile(marks, 'utf8'));
    await eventuallyHolds(() => expect(isAlive(program)).toBe(false), 20_000);

    startWorker({ SVC_IAC_CLI: 'no-such-cli' });
    const end = await world.over('shop/killed', first, 60_000);
    expect(end).toMatchObject({
      status: 'failed',
      reason: 'the worker that ran it died; it is not run again',
    });
    expect(await readFile(marks, 'utf8')).toBe(`${program}\n`);
    const stack = await world.api.get(world.pathOf('shop/killed'));
    expect(stack.body.activeUpdate).toBe('');

    const missing = await world.over('shop/killed', second, 60_000);
    expect(missing).toMatchObject({
      status: 'failed',
      exitCode: null,
      reason: "the CLI 'no-such-cli' is not on the path of the worker",
    });
    const left = (await readdir(world.workRoot)).filter((name) => /^\d+-/.test(name));
    expect(left).toEqual([]);
  }, 240_000);
});
