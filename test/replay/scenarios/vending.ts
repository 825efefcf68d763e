import { AppError } from '../../../domain/errors.js';
import type { StepDefinition } from '../../../domain/vending/steps.js';
import type { provisionSubscription } from '../../../workflows/vending/index.js';
import { workflowIds } from '../../../workflows/ids.js';
import { queues } from '../../../workflows/queues.js';
import type { Scenario } from './scenario.js';

const SUBSCRIPTION = '3c9a2c0e-1a57-4f7c-9a77-1b1f3b2d4e55';

const steps: readonly StepDefinition[] = [
  { name: 'moveGroup', after: [], kind: 'step', patience: 'replication', stopsRun: true },
  { name: 'createBudget', after: ['moveGroup'], kind: 'step', patience: 'service' },
  { name: 'notify', after: ['createBudget'], kind: 'notification', patience: 'message' },
];

const done = () => Promise.resolve({ status: 'done', summary: 'done' });
const refused = () => Promise.reject(new AppError('invalid', 'the cloud refused it'));

const scenario = (shape: string, activities: object): Scenario => ({
  name: `provisionSubscription.${shape}`,
  queue: queues.vending,
  activities: {
    beginRun: () => Promise.resolve({ subscriptionId: SUBSCRIPTION, steps }),
    prepareRun: () => Promise.resolve({ environment: 'production' }),
    checkGates: () => Promise.resolve({ passed: true }),
    endRun: () => Promise.resolve(),
    moveGroup: done,
    createBudget: done,
    notify: done,
    ...activities,
  },
  play: async (client) => {
    const handle = await client.workflow.start<typeof provisionSubscription>('provisionSubscription', {
      workflowId: workflowIds.provision(SUBSCRIPTION),
      taskQueue: queues.vending,
      args: [{ runId: 'b9d7c7f0-3c55-4a0a-b7e1-0a2e5c1d9f10' }],
    });
    await handle.result();
    return handle.workflowId;
  },
});

export const vendingScenarios: readonly Scenario[] = [
  scenario('succeeded', {}),
  scenario('a-step-failed', { createBudget: refused }),
  scenario('stopped-by-a-step', { moveGroup: refused }),
  scenario('gate-closed', { checkGates: () => Promise.resolve({ passed: false, error: 'no ticket' }) }),
  scenario('superseded', { beginRun: () => Promise.resolve(null) }),
];
