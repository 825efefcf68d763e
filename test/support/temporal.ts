import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { devServerTuning } from '../../scripts/stack/temporal.js';
import { ensureTemporalCli } from '../../scripts/tools/temporal-cli.mjs';
import { ensureTestServer } from '../../scripts/tools/temporal-test-server.mjs';
import { searchAttributes } from '../../workflows/search-attributes.js';

/** The SDK's own lines would drown the test report. */
const quietRuntime = (): void => {
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR') });
  } catch {
    // A suite of this jest worker installed it before.
  }
};
quietRuntime();

/** A full Temporal server of the suite's own, in memory, with our search attributes. */
export const temporalServer = async (): Promise<TestWorkflowEnvironment> =>
  TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: await ensureTemporalCli() },
      ip: '127.0.0.1',
      ui: false,
      log: { format: 'pretty', level: 'error' },
      searchAttributes: Object.values(searchAttributes),
      extraArgs: devServerTuning,
    },
  });

/** A server whose clock jumps over timers. It knows neither visibility nor schedules. */
export const timeSkippingServer = async (): Promise<TestWorkflowEnvironment> =>
  TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: await ensureTestServer() } },
  });

/** The bundle of one domain's workflows, made once a test run. */
export const testBundle = (name: 'broker' | 'iac' | 'vending'): { code: string } => {
  const dir = process.env['TEST_BUNDLE_DIR'];
  if (dir === undefined) throw new Error('TEST_BUNDLE_DIR is not set: run the tests by npm test');
  return { code: readFileSync(join(dir, `${name}.js`), 'utf8') };
};
