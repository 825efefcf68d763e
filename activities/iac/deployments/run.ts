import { randomBytes } from 'node:crypto';
import { access, constants, mkdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { Context } from '@temporalio/activity';
import type { RunnableDeployment } from '../../../db/iac/deployments.js';
import { findRunnable, setDeploymentToken } from '../../../db/iac/deployments.js';
import { AppError } from '../../../domain/errors.js';
import { cliArguments } from '../../../domain/iac/deployments/deployment.js';
import type { DeploymentSecrets } from '../../../domain/iac/deployments/deployment.js';
import { maskedValues } from '../../../domain/iac/deployments/log-mask.js';
import { showStackName } from '../../../domain/iac/names.js';
import { createAddressGuard } from '../../adapters/address-guard.js';
import { createClone } from '../../adapters/git.js';
import { runInGroup } from '../../adapters/process-group.js';
import type { IacDeps } from '../deps.js';
import { hashOfToken } from './commands.js';
import { openLog } from './log-writer.js';
import type { LogWriter } from './log-writer.js';
import { openSecrets } from './secrets.js';
import { folderBytes, workFolder } from './work-folder.js';

export interface RunnerDeps extends IacDeps {
  /** Address of this service as the CLI reaches it; it goes into the state, so it is the public one. */
  readonly publicUrl: () => string;
  /** Name of the CLI on `path`, or its absolute path. */
  readonly cli: string;
  readonly path: string;
  /** What every run gets of this process's environment, e.g. certificates and proxies. */
  readonly inherited: Readonly<Record<string, string>>;
  readonly workRoot: string;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly maxLogBytes: number;
  readonly maxDiskBytes: number;
}

export interface RunOutcome {
  readonly exitCode: number | null;
  /** Why there is no exit code, or what made it. */
  readonly reason: string | null;
}

const HEARTBEAT_MS = 5_000;
const DISK_LOOK_EVERY = 3;

/** Stops a run for a reason that its record will name. */
class Stopped extends Error {}

/** Where the CLI is on the path; `undefined` = nowhere. */
export const findCli = async (cli: string, path: string): Promise<string | undefined> => {
  const candidates = isAbsolute(cli) ? [cli] : path.split(delimiter).map((folder) => join(folder, cli));
  for (const candidate of candidates) {
    const isThere = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return candidate;
  }
  return undefined;
};

/**
 * Clones, runs the CLI and stores its log. Never repeated: what stops it is told in the outcome. The environment is what the
 * request and a fixed list give; the token lives as long as the run.
 */
export const createRunDeployment = (deps: RunnerDeps) => {
  const clone = createClone(createAddressGuard({ allowedCidrs: deps.sources.allowedCidrs }), deps.sources);

  const execute = async (
    deployment: RunnableDeployment,
    secrets: DeploymentSecrets,
    token: string,
    folder: string,
    log: LogWriter,
    signal: AbortSignal,
  ): Promise<RunOutcome> => {
    const cli = await findCli(deps.cli, deps.path);
    if (cli === undefined)
      return { exitCode: null, reason: `the CLI '${deps.cli}' is not on the path of the worker` };
    const cwd = await programFolder(deployment, secrets, folder, log, signal);
    const env = await environmentOf(deps, secrets, token, folder);
    const run = (command: string, args: readonly string[]): Promise<number> =>
      runInGroup({ ...{ command, args, cwd, env, signal }, onOutput: log.write, graceMs: deps.graceMs });
    for (const command of deployment.preRunCommands) {
      log.say(`$ ${command}`);
      const exitCode = await run('/bin/sh', ['-c', command]);
      signal.throwIfAborted();
      if (exitCode !== 0) return { exitCode, reason: 'a command before the run failed' };
    }
    const exitCode = await run(cli, cliArguments(deployment.operation, showStackName(deployment)));
    signal.throwIfAborted();
    return { exitCode, reason: exitCode === 0 ? null : `the CLI ended with exit code ${exitCode}` };
  };

  const programFolder = async (
    { source, project }: RunnableDeployment,
    { git, sshKey }: DeploymentSecrets,
    folder: string,
    log: LogWriter,
    signal: AbortSignal,
  ): Promise<string> => {
    if (source === null) {
      const cwd = join(folder, 'source');
      await mkdir(cwd);
      await writeFile(join(cwd, 'Pulumi.yaml'), `name: ${JSON.stringify(project)}\nruntime: yaml\n`);
      return cwd;
    }
    log.say(`cloning ${source.repoUrl} ${source.commit ?? source.branch ?? ''}`);
    return clone({ source, folder, path: deps.path, credentials: git, sshKey, signal, onOutput: log.write });
  };

  return async ({ deploymentId }: { readonly deploymentId: string }): Promise<RunOutcome> => {
    const deployment = await findRunnable(deps.db, deploymentId);
    if (deployment === undefined) return { exitCode: null, reason: 'its stack is gone' };
    const secrets = openSecrets(deps.keyRing, deploymentId, deployment.sealed);
    const token = randomBytes(32).toString('base64url');
    if (!(await setDeploymentToken(deps.db, deploymentId, hashOfToken(token))))
      return { exitCode: null, reason: 'it was cancelled before it ran' };

    const masked = maskedValues(
      {
        ...secrets.environment,
        '': token,
        ' git': secrets.git?.password ?? '',
        ' ssh': secrets.sshKey ?? '',
      },
      secrets.marked,
    );
    const log = await openLog({ db: deps.db, deploymentId, masked, maxBytes: deps.maxLogBytes });
    const folder = await workFolder(deps.workRoot, deploymentId);
    const watch = watchRun(deps, folder);
    try {
      return await execute(deployment, secrets, token, folder, log, watch.signal);
    } catch (error) {
      if (error instanceof AppError) log.say(error.message);
      return { exitCode: null, reason: reasonOf(error, watch.signal) };
    } finally {
      watch.stop();
      await log.close();
      await rm(folder, { recursive: true, force: true });
    }
  };
};

const reasonOf = (error: unknown, signal: AbortSignal): string => {
  const cause: unknown = signal.aborted ? signal.reason : error;
  return cause instanceof AppError || cause instanceof Stopped
    ? cause.message
    : `the run was stopped: ${cause instanceof Error ? cause.message : String(cause)}`;
};

/** Heartbeats, and one signal for everything that ends a run early: cancellation, time and disk. */
const watchRun = ({ timeoutMs, maxDiskBytes }: RunnerDeps, folder: string) => {
  const context = Context.current();
  const limit = new AbortController();
  const stopFor = (reason: string): void => limit.abort(new Stopped(reason));
  const timer = setTimeout(() => stopFor(`it took more than ${timeoutMs / 1_000} s`), timeoutMs);
  let looks = 0;
  const beat = setInterval(() => {
    context.heartbeat();
    looks += 1;
    if (looks % DISK_LOOK_EVERY !== 0) return;
    void folderBytes(folder).then((bytes) => {
      if (bytes > maxDiskBytes)
        stopFor(`it used more than ${Math.floor(maxDiskBytes / 1_048_576)} MB of disk`);
    });
  }, HEARTBEAT_MS);
  return {
    signal: AbortSignal.any([context.cancellationSignal, limit.signal]),
    stop: () => {
      clearTimeout(timer);
      clearInterval(beat);
    },
  };
};

const environmentOf = async (
  deps: RunnerDeps,
  secrets: DeploymentSecrets,
  token: string,
  folder: string,
): Promise<Record<string, string>> => {
  const home = join(folder, 'home');
  const temporary = join(folder, 'tmp');
  await mkdir(home, { mode: 0o700 });
  await mkdir(temporary, { mode: 0o700 });
  return {
    ...deps.inherited,
    LANG: 'C.UTF-8',
    ...secrets.environment,
    PATH: deps.path,
    HOME: home,
    TMPDIR: temporary,
    PULUMI_HOME: join(home, '.pulumi'),
    PULUMI_BACKEND_URL: deps.publicUrl(),
    PULUMI_ACCESS_TOKEN: token,
    PULUMI_SKIP_UPDATE_CHECK: 'true',
    CI: 'true',
  };
};
