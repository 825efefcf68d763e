import type { Client } from '@temporalio/client';
import { ScheduleAlreadyRunning } from '@temporalio/client';
import type { webhookRetention } from '../../workflows/broker/index.js';
import { queues } from '../../workflows/queues.js';

/** Runs the retention of webhook events every hour; whichever worker comes first creates the schedule. */
export const ensureRetentionSchedule = async (client: Client): Promise<void> => {
  try {
    await client.schedule.create<typeof webhookRetention>({
      scheduleId: 'webhook-retention',
      spec: { intervals: [{ every: '1 hour' }] },
      action: {
        type: 'startWorkflow',
        workflowType: 'webhookRetention',
        taskQueue: queues.webhooks,
        args: [],
      },
      policies: { overlap: 'SKIP' },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
};
