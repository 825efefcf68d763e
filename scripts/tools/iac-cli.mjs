import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installOnce, runWithProgress } from './cache.mjs';

/** The IaC CLI and its YAML language host, built from their Go modules (about 7 minutes on two cores, once). */
export const IAC_CLI_VERSION = '3.259.0';
/** The newest one from before the journal: the backend is tested with both. */
export const OLDER_IAC_CLI_VERSION = '3.220.0';
const YAML_HOST_VERSION = '1.38.3';

const programs = (version) => [
  {
    binary: 'pulumi',
    module: `github.com/pulumi/pulumi/pkg/v3 v${version}`,
    package: 'github.com/pulumi/pulumi/pkg/v3/cmd/pulumi',
    ldflags: `-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v${version}`,
    extra: `replace github.com/atotto/clipboard => github.com/tgummerer/clipboard v0.0.0-20241001131231-d02d263e614e`,
  },
  {
    binary: 'pulumi-language-yaml',
    module: `github.com/pulumi/pulumi-yaml v${YAML_HOST_VERSION}`,
    package: 'github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml',
    ldflags: `-X github.com/pulumi/pulumi-yaml/pkg/version.Version=v${YAML_HOST_VERSION}`,
    extra: '',
  },
];

const requireGo = () => {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' });
  } catch {
    throw new Error(
      'the IaC CLI is built with Go 1.24 or newer, and `go` is not on the path: install it (e.g. apt-get install golang, or go.dev/dl) and try again',
    );
  }
};

/** A blank import keeps the requirement through `go mod tidy`; the build tag keeps the file out of every build. */
const buildProgram = async (scratch, program, log) => {
  const cwd = join(scratch, `${program.binary}-module`);
  await mkdir(cwd);
  const goMod = `module scratch\n\ngo 1.24\n\nrequire ${program.module}\n\n${program.extra}\n`;
  await writeFile(join(cwd, 'go.mod'), goMod);
  await writeFile(
    join(cwd, 'tools.go'),
    `//go:build tools\n\npackage scratch\n\nimport _ "${program.package}"\n`,
  );
  await runWithProgress(`fetching the modules of ${program.binary}`, 'go', ['mod', 'tidy'], { cwd, log });
  const args = [
    'build',
    '-ldflags',
    `-s -w ${program.ldflags}`,
    '-o',
    join(scratch, program.binary),
    program.package,
  ];
  await runWithProgress(`building ${program.binary}`, 'go', args, { cwd, env: { CGO_ENABLED: '0' }, log });
};

/**
 * Installs the CLI where it is missing. Put the returned folder first on the path: the CLI finds its language host there.
 * @returns the folder with `pulumi` and `pulumi-language-yaml`
 */
export const installIacCli = ({ version = IAC_CLI_VERSION, log = console.error } = {}) => {
  const wanted = programs(version);
  return installOnce({
    name: `iac-cli-${version}`,
    files: wanted.map((program) => program.binary),
    log,
    build: async (scratch) => {
      requireGo();
      for (const program of wanted) await buildProgram(scratch, program, log);
    },
  });
};

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(await installIacCli({ version: process.argv[2] }));
}
