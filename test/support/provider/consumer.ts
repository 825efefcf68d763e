import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { IAC_TOKEN } from '../iac.js';
import { cliFolder } from '../pulumi.js';

const root = resolve(import.meta.dirname, '../../..');

export type ProviderResource =
  | readonly [kind: string, name: string, args: object]
  | readonly [kind: string, name: string, args: object, id: string];

export interface ProviderRun {
  readonly error?: string;
  readonly log: string;
  readonly outputs: Readonly<Record<string, { readonly value: unknown; readonly secret: boolean }>>;
  readonly changes?: Readonly<Record<string, number>>;
  readonly summary?: { readonly resourceChanges?: Readonly<Record<string, number>> };
}

/** Compiles the package into provider/dist. */
export const buildProvider = async (): Promise<void> => {
  const tsc = spawn(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'provider'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [said, code] = await Promise.all([
    text(tsc.stdout),
    new Promise<number | null>((done) => tsc.on('close', done)),
  ]);
  if (code !== 0) throw new Error(`provider does not compile\n${said}`);
};

/** A user's project that has the package installed, with the state in the service at `iacUrl`. */
export const providerConsumer = async (iacUrl: string, org: string) => {
  const dir = await mkdtemp(join(tmpdir(), 'keystead-provider-'));
  const installed = join(dir, 'node_modules/@keystead/provider');
  await mkdir(installed, { recursive: true });
  await cp(join(root, 'provider/package.json'), join(installed, 'package.json'));
  await cp(join(root, 'provider/dist'), join(installed, 'dist'), { recursive: true });
  await symlink(join(root, 'node_modules/@pulumi'), join(dir, 'node_modules/@pulumi'));
  const env = {
    PATH: [cliFolder('3.259.0'), join(root, 'node_modules/@pulumi/pulumi'), process.env['PATH'] ?? ''].join(
      delimiter,
    ),
    HOME: dir,
    PULUMI_HOME: join(dir, '.pulumi'),
    PULUMI_BACKEND_URL: iacUrl,
    PULUMI_ACCESS_TOKEN: IAC_TOKEN,
    PULUMI_SKIP_UPDATE_CHECK: 'true',
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: 'true',
    NO_COLOR: '1',
  };

  const run = async (
    command: 'up' | 'preview' | 'refresh' | 'destroy',
    stack: string,
    resources: readonly ProviderResource[],
    options: object = {},
  ): Promise<ProviderRun> => {
    const job = {
      ...{ command, resources, options, env, workDir: dir, project: 'machines' },
      stack: `${org}/machines/${stack}`,
    };
    const child = spawn(process.execPath, [join(import.meta.dirname, 'run.mjs')], {
      cwd: dir,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.end(JSON.stringify(job));
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    try {
      return JSON.parse(stdout) as ProviderRun;
    } catch {
      throw new Error(`the program did not run:\n${stdout}\n${stderr}`);
    }
  };
  return { run, dir, remove: () => rm(dir, { recursive: true, force: true }) };
};
export type ProviderConsumer = Awaited<ReturnType<typeof providerConsumer>>;
