import type { WipeActivities } from '../../../activities/broker/wipe.js';
import type { revokeAndWipe } from '../../../workflows/broker/index.js';
import { wipeCompleted, wipeTold } from '../../../workflows/broker/messages.js';
import { workflowIds } from '../../../workflows/ids.js';
import { queues } from '../../../workflows/queues.js';
import type { Scenario } from './scenario.js';
import { eventually } from '../../support/eventually.js';

const MACHINE = 'b2f7a3f0-5d0c-4c43-8a3c-58b3f4b7f0aa';

const activities = (completed: boolean): WipeActivities => ({
  readWipe: () => Promise.resolve({ told: completed, completed }),
  raiseWipeOverdue: () => Promise.resolve(),
});

const start = (client: Parameters<Scenario['play']>[0], deadlineSeconds: number) =>
  client.workflow.start<typeof revokeAndWipe>('revokeAndWipe', {
    workflowId: workflowIds.revoke(MACHINE),
    taskQueue: queues.broker,
    args: [{ machineId: MACHINE, deadlineSeconds }],
  });

const scenario = (shape: string, completed: boolean, play: Scenario['play']): Scenario => ({
  name: `revokeAndWipe.${shape}`,
  queue: queues.broker,
  activities: activities(completed),
  play,
});

export const wipeScenarios: readonly Scenario[] = [
  scenario('told-and-done', false, async (client) => {
    const handle = await start(client, 600);
    await handle.signal(wipeTold);
    await handle.signal(wipeCompleted);
    await handle.result();
    return handle.workflowId;
  }),
  scenario('overdue', false, async (client) => {
    const handle = await start(client, 1);
    await eventually(async () => (await handle.query<{ overdue: boolean }>('wipeProgress')).overdue);
    await handle.signal(wipeTold);
    await handle.signal(wipeCompleted);
    await handle.result();
    return handle.workflowId;
  }),
  scenario('done-before-start', true, async (client) => {
    const handle = await start(client, 600);
    await handle.result();
    return handle.workflowId;
  }),
  scenario('waiting', false, async (client) => {
    const handle = await start(client, 600);
    await handle.signal(wipeTold);
    await eventually(async () => (await handle.query<{ told: boolean }>('wipeProgress')).told);
    return handle.workflowId;
  }),
];
