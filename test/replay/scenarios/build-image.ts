import { AppError } from '../../../domain/errors.js';
import type { ImageActivities } from '../../../activities/broker/image.js';
import type { buildImage } from '../../../workflows/broker/index.js';
import { workflowIds } from '../../../workflows/ids.js';
import { queues } from '../../../workflows/queues.js';
import type { Scenario } from './scenario.js';

const MACHINE = '0d0d6a55-91f2-4f0e-9a34-8f1d2a6f7c11';

const scenario = (shape: string, answers: readonly ('built' | 'not-needed' | 'away')[]): Scenario => {
  let next = 0;
  const requestImage: ImageActivities['requestImage'] = () => {
    const answer = answers[next++] ?? 'built';
    return answer === 'away'
      ? Promise.reject(new AppError('unavailable', 'image factory unavailable'))
      : Promise.resolve(answer);
  };
  return {
    name: `buildImage.${shape}`,
    queue: queues.broker,
    activities: { requestImage },
    play: async (client) => {
      const handle = await client.workflow.start<typeof buildImage>('buildImage', {
        workflowId: workflowIds.image(MACHINE),
        taskQueue: queues.broker,
        args: [MACHINE],
      });
      await handle.result();
      return handle.workflowId;
    },
  };
};

export const imageScenarios: readonly Scenario[] = [
  scenario('built', ['built']),
  scenario('not-needed', ['not-needed']),
  scenario('factory-away', ['away', 'built']),
];
