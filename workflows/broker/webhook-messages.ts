import { defineSignal } from '@temporalio/workflow';
import type { AttemptResult } from '../../domain/broker/webhook.js';

export interface WebhookDeliveryInput {
  readonly messageId: string;
  /** Number of the first attempt of this series: 1, or one more than the attempts made before a redelivery. */
  readonly firstAttempt: number;
  /** What the first attempt came to, when a batch made it. */
  readonly firstResult?: AttemptResult;
}

export interface WebhookBatchInput {
  readonly messageIds: readonly string[];
}

/** Asks for a fresh series of attempts at once; ignored by the run that it starts. */
export const redeliver = defineSignal<[{ readonly firstAttempt: number }]>('redeliver');
