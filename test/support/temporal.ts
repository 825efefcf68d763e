import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { delimiter } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { searchAttributes } from '../../workflows/search-attributes.js';

const cacheDir = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'keystead');

const temporalProgram = (): string => {
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((dir) => join(dir, 'temporal'));
  const found = [...onPath, join(cacheDir, 'temporal-1.5.1', 'temporal')].find((path) => existsSync(path));
  if (found === undefined)
    throw new Error('no temporal program: run the tests by npm test, which installs it');
  return found;
};

/** Without them the dev server is 4 to 11 times slower (docs/operations/temporal.md). */
export const tunedServerFlags = [
  'history.transferProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxPollRPS=2000',
  'history.visibilityProcessorMaxPollRPS=200',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
].flatMap((value) => ['--dynamic-config-value', value]);

/** A full Temporal server of the suite's own, in memory, with our search attributes. */
export const temporalServer = (): Promise<TestWorkflowEnvironment> =>
  TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: temporalProgram() },
      ip: '127.0.0.1',
      ui: false,
      log: { format: 'pretty', level: 'error' },
      searchAttributes: Object.values(searchAttributes),
      extraArgs: tunedServerFlags,
    },
  });

/** A server whose clock jumps over timers. It knows neither visibility nor schedules. */
export const timeSkippingServer = (): Promise<TestWorkflowEnvironment> =>
  TestWorkflowEnvironment.createTimeSkipping({
    server: {
      executable: { type: 'existing-path', path: join(cacheDir, 'temporal-test-server', 'test-server') },
    },
  });

/** The bundle of one domain's workflows, made once a test run. */
export const testBundle = (name: 'broker' | 'iac' | 'vending'): { code: string } => {
  const dir = process.env['TEST_BUNDLE_DIR'];
  if (dir === undefined) throw new Error('TEST_BUNDLE_DIR is not set: run the tests by npm test');
  return { code: readFileSync(join(dir, `${name}.js`), 'utf8') };
};
