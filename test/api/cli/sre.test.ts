import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import type { FailedReport } from '../../../api/cli/sre/failed.js';
import { sre } from '../../support/sre.js';
import { temporalServer } from '../../support/temporal.js';
import { eventually } from '../../support/eventually.js';

const bundle = (file: string) =>
  bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL(`./workflows/${file}.ts`, import.meta.url)),
    logger: new DefaultLogger('ERROR'),
  });

describe('sre', () => {
  let server: TestWorkflowEnvironment;
  let worker: Worker;
  let running: Promise<void>;
  let shapes: { code: string };
  let env: Record<string, string>;
  let folder: string;
  let broken = true;

  beforeAll(async () => {
    [server, shapes] = await Promise.all([temporalServer(), bundle('shapes')]);
    folder = mkdtempSync(join(tmpdir(), 'keystead-sre-'));
    env = { TEMPORAL_ADDRESS: server.address, TEMPORAL_UI_URL: 'http://ui.example:8233/' };
    worker = await Worker.create({
      connection: server.nativeConnection,
      taskQueue: 'broker',
      workflowBundle: shapes,
      activities: {
        flaky: (key: string) =>
          broken && key === 'down' ? Promise.reject(new Error('database is away')) : Promise.resolve(key),
      },
    });
    running = worker.run();
  });
  afterAll(async () => {
    worker.shutdown();
    await running;
    await server.teardown();
    rmSync(folder, { recursive: true });
  });

  const start = (type: string, workflowId: string, ...args: string[]): Promise<WorkflowHandle> =>
    server.client.workflow.start(type, { workflowId, taskQueue: 'broker', args });
  const withShapes = { workflowBundle: () => Promise.resolve(shapes) };

  describe('failed', () => {
    const report = async (...args: string[]): Promise<FailedReport> =>
      JSON.parse((await sre(env, ['failed', '-o', 'json', ...args])).out) as FailedReport;

    it('names failed, terminated, and stuck ones with reason and link, and leaves out the healthy', async () => {
      const failing = await start('failing', 'failing-1', 'machine changed meanwhile');
      await expect(failing.result()).rejects.toThrow();
      const terminated = await start('waiting', 'terminated-1');
      await terminated.terminate('by hand');
      await start('waiting', 'healthy-1');
      await start('twoSteps', 'stuck-activity', 'down');
      await start('throwing', 'stuck-task');
      await start('twoSteps', 'done-1', 'fine').then((handle) => handle.result());

      const found = await eventually(async () => {
        const { workflows } = await report('--attempts', '2');
        return workflows.length === 4 ? workflows : undefined;
      });
      const reasons = Object.fromEntries(found.map((w) => [w.workflowId, `${w.status}: ${w.reason}`]));
      expect(reasons).toEqual({
        'failing-1': 'failed: conflict: machine changed meanwhile',
        'terminated-1': 'terminated: by hand',
        'stuck-activity': expect.stringMatching(/^stuck: flaky attempt \d+: Error: database is away$/),
        'stuck-task': expect.stringMatching(/^stuck: workflow task attempt \d+: cannot read/),
      });
      expect(found.find((w) => w.workflowId === 'failing-1')?.link).toBe(
        `http://ui.example:8233/namespaces/default/workflows/failing-1/${(await failing.describe()).runId}/history`,
      );
    });

    it('filters by type, prints a table, and fails a monitor with --check', async () => {
      const { code, out } = await sre(env, ['failed', '--type', 'failing', '--check']);
      expect(code).toBe(1);
      expect(out.split('\n')).toHaveLength(2);
      expect(out).toMatch(/^TYPE +STATUS +WORKFLOW +REASON +LINK\nfailing +failed +failing-1 /);
      expect(await sre(env, ['failed', '--type', "no'such", '--check'])).toMatchObject({
        code: 0,
        out: 'no failed or stuck workflows',
      });
    });

    it('names a workflow that no worker takes', async () => {
      const orphan = await server.client.workflow.start('twoSteps', {
        workflowId: 'orphan',
        taskQueue: 'nobody',
        args: ['x'],
      });
      const found = await eventually(async () =>
        (await report('--idle', '0', '--attempts', '100')).workflows.find((w) => w.workflowId === 'orphan'),
      );
      expect(found.reason).toBe('no worker takes its workflow task');
      await orphan.terminate();
    });
  });

  describe('export-history and replay', () => {
    it('replays a finished and a running workflow against the code of this build', async () => {
      await start('twoSteps', 'replayed', 'k').then((handle) => handle.result());
      await start('waiting', 'still-running');
      expect(await sre(env, ['replay', 'replayed'], withShapes)).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^deterministic: twoSteps, \d+ events$/),
      });
      expect(await sre(env, ['replay', 'still-running'], withShapes)).toMatchObject({ code: 0 });
    });

    it('says where changed code parts from an exported history', async () => {
      const file = join(folder, 'replayed.json');
      expect(await sre(env, ['export-history', 'replayed', '--out', file])).toMatchObject({
        err: '',
        out: expect.stringContaining('events written to'),
      });
      expect(JSON.parse(readFileSync(file, 'utf8'))).toHaveProperty('events');
      const changed = await bundle('shapes-broken');
      const verdict = await sre({}, ['replay', '--file', file], {
        workflowBundle: () => Promise.resolve(changed),
      });
      expect(verdict.code).toBe(1);
      expect(verdict.out).toMatch(
        /^NOT deterministic: twoSteps, at event \d+ TIMER_STARTED\n.*Nondeterminism/,
      );
    });

    it('refuses both a file and an id, and an unknown workflow', async () => {
      expect(await sre(env, ['replay'])).toMatchObject({ code: 1, err: expect.stringContaining('either') });
      expect((await sre(env, ['replay', 'no-such-workflow'])).code).toBe(1);
    });
  });

  describe('reset and rerun', () => {
    it('goes on from the first workflow task, from the last, and from an event', async () => {
      broken = true;
      await start('twoSteps', 'reset-me', 'fine').then((handle) => handle.result());
      for (const point of [['first-workflow-task'], ['last-workflow-task'], ['event', '4']]) {
        const { code, out, err } = await sre(env, ['reset', 'reset-me', '--to', ...point]);
        expect({ code, err }).toEqual({ code: 0, err: '' });
        expect(out).toMatch(/^reset-me reset to event \d+, run /);
        expect(await server.client.workflow.getHandle('reset-me').result()).toBe('fine fine');
      }
    });

    it('names the events that a reset can go to', async () => {
      const { code, err } = await sre(env, ['reset', 'reset-me', '--to', 'event', '2']);
      expect(code).toBe(1);
      expect(err).toMatch(/event 2 is WORKFLOW_TASK_SCHEDULED; .* here: 4, /);
      expect((await sre(env, ['reset', 'reset-me', '--to', 'somewhere'])).err).toContain('event N');
    });

    it('starts a failed workflow again with its input, and never a running one', async () => {
      const { code, out } = await sre(env, ['rerun', 'failing-1']);
      expect(code).toBe(0);
      expect(out).toContain('failing-1 started again, run ');
      await expect(server.client.workflow.getHandle('failing-1').result()).rejects.toMatchObject({
        cause: { message: 'machine changed meanwhile' },
      });
      expect(await sre(env, ['rerun', 'healthy-1'])).toMatchObject({
        code: 1,
        err: expect.stringContaining('is running'),
      });
    });
  });

  it('explains itself, with examples, and refuses what it does not know', async () => {
    for (const command of ['failed', 'replay', 'reset', 'rerun', 'export-history', 'doctor']) {
      const help = await sre({}, [command, '--help']);
      expect(help.code).toBe(0);
      expect(help.out).toContain(`npm run -s sre -- ${command}`);
    }
    expect((await sre({}, ['fail'])).code).toBe(2);
    expect((await sre({}, ['failed', '--since', 'yesterday'])).code).toBe(2);
  });

  it('says what to do when Temporal is away', async () => {
    const { code, err } = await sre({ TEMPORAL_ADDRESS: '127.0.0.1:1' }, ['failed']);
    expect(code).toBe(1);
    expect(err).toContain('is TEMPORAL_ADDRESS right?');
  });
});
