/**
 * `npm test [-- jest arguments]`: installs what is missing and runs the tests. Without arguments everything: first what
 * shares one PostgreSQL two suites at a time, then the end-to-end tests one by one. Ends with `N passed, N failed`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageRoot } from './tools/paths.mjs';
import { ensureTestTools } from './tools/test-tools.mjs';

const root = packageRoot();

const GROUPS = [
  { title: 'unit, database and workflow tests', args: ['--testPathIgnorePatterns', '<rootDir>/test/e2e/'] },
  { title: 'end-to-end tests', args: ['--maxWorkers=1', 'test/e2e/'] },
];

const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  join(root, 'node_modules/jest/bin/jest.js'),
];

/** Runs jest over a selection; a suite that could not run at all counts as a failure. */
const runJest = async (args, resultsFile) => {
  // A suite that failed in its set-up may leave a process behind; the run must end all the same.
  const options = ['--json', `--outputFile=${resultsFile}`, '--forceExit'];
  const child = spawn(process.execPath, [...JEST, ...args, ...options], {
    cwd: root,
    // With --json the report goes to stderr and the raw results to stdout: the file is enough.
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'close');
  if (!existsSync(resultsFile)) return { passed: 0, failed: 1, skipped: 0 };
  const results = JSON.parse(await readFile(resultsFile, 'utf8'));
  const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
  return {
    passed: results.numPassedTests,
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: results.numPendingTests + results.numTodoTests,
  };
};

const runGroups = async (groups) => {
  const scratch = await mkdtemp(join(tmpdir(), 'keystead-results-'));
  const total = { passed: 0, failed: 0, skipped: 0 };
  try {
    for (const [index, { title, args }] of groups.entries()) {
      console.error(`\n${title}`);
      const counts = await runJest(args, join(scratch, `${index}.json`));
      for (const key of Object.keys(total)) total[key] += counts[key];
    }
  } finally {
    await rm(scratch, { recursive: true });
  }
  return total;
};

const main = async (args) => {
  await ensureTestTools(root);
  const chosen = [{ title: `jest ${args.join(' ')}`, args }];
  const { passed, failed, skipped } = await runGroups(args.length > 0 ? chosen : GROUPS);
  console.log(`${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`);
  return failed === 0 && passed > 0 ? 0 : 1;
};

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    console.error(error.message);
    console.log('0 passed, 1 failed');
    process.exitCode = 1;
  },
);
