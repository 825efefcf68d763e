/** `npm run -s record-histories`: records the scenarios that have no file yet, on a real server. Runs under jest. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import { fetchHistory } from '../../api/cli/sre/history.js';
import { failureInterceptor } from '../../workers/failure-interceptor.js';
import { bundleOfQueue } from '../../workflows/queues.js';
import { temporalServer, testBundle } from '../support/temporal.js';
import { historiesFolder, recordedText } from './histories.js';
import { scenarios } from './scenarios/index.js';

describe('recorder', () => {
  let server: TestWorkflowEnvironment;
  let client: Client;
  beforeAll(async () => {
    mkdirSync(historiesFolder, { recursive: true });
    server = await temporalServer();
    client = new Client({ connection: server.connection, identity: 'recorder' });
  });
  afterAll(() => server.teardown());

  it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))('%s', async (name, scenario) => {
    const file = join(historiesFolder, `${name}.json`);
    if (existsSync(file)) return;
    const worker = await Worker.create({
      connection: server.nativeConnection,
      identity: 'recorder',
      taskQueue: scenario.queue,
      workflowBundle: testBundle(bundleOfQueue(scenario.queue)!),
      activities: scenario.activities,
      interceptors: { activity: [failureInterceptor] },
    });
    const history = await worker.runUntil(async () => {
      const workflowId = await scenario.play(client);
      const recorded = await fetchHistory(client, workflowId);
      await client.workflow
        .getHandle(workflowId)
        .terminate('recorded')
        .catch(() => undefined);
      return recorded;
    });
    writeFileSync(file, recordedText(history));
    expect(history.events?.length).toBeGreaterThan(3);
  });
});
