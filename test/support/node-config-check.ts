import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const source = resolve(import.meta.dirname, '../tools/node-config-check');

/** The node OS's own config loader (Go), built once a test file; Go keeps what it compiled. */
const build = async (): Promise<string> => {
  const program = join(
    await mkdtemp(join(process.env['TEST_RUN_DIR'] ?? tmpdir(), 'node-config-check-')),
    'check',
  );
  await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: source });
  return program;
};

let built: Promise<string> | undefined;

/** What a bare-metal node of v1.9.5 says to config files: `ok <file> <type>` or `refused <file>: <why>`, a line each. */
export const nodeVerdicts = async (files: readonly string[]): Promise<readonly string[]> => {
  built ??= build();
  const { stdout } = spawnSync(await built, files, { encoding: 'utf8' });
  return stdout.trim().split('\n');
};
