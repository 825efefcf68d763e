import { proxyActivities } from '@temporalio/workflow';
import type { ImageActivities } from '../../activities/broker/image.js';
import { outsideCall } from '../options.js';

const { requestImage } = proxyActivities<ImageActivities>(outsideCall);

/** Asks the image factory for the image of an approved machine that has none, however long the factory is away. */
export const buildImage = async (machineId: string): Promise<'built' | 'not-needed'> =>
  requestImage(machineId);
