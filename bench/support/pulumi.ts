import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const cacheDir = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'keystead');
export const cliFolder = (version: string): string => join(cacheDir, `iac-cli-${version}`);

export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A YAML program of `count` Stash resources; `extra` goes in at resource level. */
export const stashProgram = (project: string, count: number, extra = ''): string =>
  [
    `name: ${project}`,
    'runtime: yaml',
    'resources:',
    ...Array.from(
      { length: count },
      (_, i) => `  r${i}: {type: pulumi:index:Stash, properties: {input: v${i}}}`,
    ),
    extra,
  ].join('\n');

interface UserOptions {
  readonly token: string;
  readonly version?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** One user of the real CLI: a home of its own, logged in to `url`, with a project folder. */
export const cliUser = async (url: string, { token, version = '3.259.0', env = {} }: UserOptions) => {
  const home = await mkdtemp(join(tmpdir(), 'keystead-cli-'));
  const dir = join(home, 'project');
  await mkdir(dir);
  const environment = {
    PATH: `${cliFolder(version)}${delimiter}${process.env['PATH'] ?? ''}`,
    HOME: home,
    PULUMI_HOME: join(home, '.pulumi'),
    PULUMI_BACKEND_URL: url,
    PULUMI_ACCESS_TOKEN: token,
    PULUMI_SKIP_UPDATE_CHECK: 'true',
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: 'true',
    NO_COLOR: '1',
    ...env,
  };
  const start = (args: readonly string[], more: Record<string, string> = {}) => {
    let done: (result: CliResult) => void;
    const result = new Promise<CliResult>((resolve) => (done = resolve));
    const child = execFile(
      join(cliFolder(version), 'pulumi'),
      [...args, '--non-interactive'],
      { cwd: dir, env: { ...environment, ...more }, maxBuffer: 64 * 1_048_576 },
      (error, stdout, stderr) =>
        done({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr }),
    );
    return { child, result };
  };
  return {
    dir,
    start,
    /** Runs a command and gives its result, whatever it is. */
    attempt: (...args: string[]) => start(args).result,
    /** Runs a command that must succeed; gives its standard output. */
    run: async (...args: string[]): Promise<string> => {
      const { code, stdout, stderr } = await start(args).result;
      if (code !== 0) throw new Error(`pulumi ${args.join(' ')}: exit code ${code}\n${stdout}\n${stderr}`);
      return stdout;
    },
    program: (text: string) => writeFile(join(dir, 'Pulumi.yaml'), text),
    remove: () => rm(home, { recursive: true, force: true }),
  };
};
export type CliUser = Awaited<ReturnType<typeof cliUser>>;
