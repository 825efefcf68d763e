import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { startedEvent } from '../../api/cli/sre/history.js';
import { bundleOfHistory, replayHistory } from '../../api/cli/sre/replay.js';
import * as brokerWorkflows from '../../workflows/broker/index.js';
import * as iacWorkflows from '../../workflows/iac/index.js';
import * as vendingWorkflows from '../../workflows/vending/index.js';
import { testBundle } from '../support/temporal.js';
import { recordedHistories } from './histories.js';
import { scenarios } from './scenarios/index.js';

const histories = recordedHistories();

describe('replay of recorded histories', () => {
  it.each(histories.map(({ name, history }) => [name, history] as const))('%s', async (name, history) => {
    const bundle = testBundle(bundleOfHistory(history) as Parameters<typeof testBundle>[0]);
    expect(await replayHistory(history, name, bundle)).toMatchObject({ deterministic: true });
  });

  it('has a file for every scenario, and a scenario or more for every workflow', () => {
    const names = histories.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(scenarios.map(({ name }) => name)));
    const types = new Set(histories.map(({ history }) => startedEvent(history).workflowType?.name));
    const shipped = [brokerWorkflows, iacWorkflows, vendingWorkflows].flatMap(Object.keys);
    expect([...types]).toEqual(expect.arrayContaining(shipped));
  });

  describe('notices a change that would break running workflows', () => {
    let broken: { code: string };
    beforeAll(async () => {
      broken = await bundleWorkflowCode({
        workflowsPath: fileURLToPath(new URL('./broken/broker.ts', import.meta.url)),
        logger: new DefaultLogger('ERROR'),
      });
    });
    it.each(['revokeAndWipe.overdue', 'buildImage.built', 'buildImage.factory-away'])('%s', async (name) => {
      const { history } = histories.find((recorded) => recorded.name === name)!;
      const verdict = await replayHistory(history, name, broken);
      expect(verdict).toMatchObject({ deterministic: false });
      expect(verdict.message).toContain('Nondeterminism');
    });
  });
});
