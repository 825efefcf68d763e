import { defineQuery } from '@temporalio/workflow';
import type { RewrapProgress } from '../../domain/broker/rewrap.js';

export const rewrapProgress = defineQuery<RewrapProgress>('rewrapProgress');
