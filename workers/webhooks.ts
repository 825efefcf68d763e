import type { Client } from '@temporalio/client';
import type { Knex } from 'knex';
import type { Outbound } from '../activities/adapters/http.js';
import { createWebhookActivities } from '../activities/broker/webhook-activities.js';
import type { KeyRing } from '../activities/crypto/key-ring.js';
import { DELIVERY_TOPIC } from '../db/broker/webhook-messages.js';
import type { Clock } from '../domain/clock.js';
import type { WebhookConfig } from '../domain/config/webhook.js';
import { queues } from '../workflows/queues.js';
import { createDeliveryStarter } from './delivery-starter.js';
import type { OutboxSender } from './relay.js';
import type { QueueWorker } from './run.js';

interface WebhookWorkerDeps {
  readonly config: WebhookConfig;
  readonly db: Knex;
  readonly clock: Clock;
  readonly client: Client;
  readonly keyRing: KeyRing;
  readonly outbound: Pick<Outbound, 'request'>;
  readonly workflowBundle: NonNullable<QueueWorker['workflowBundle']>;
}

export interface WebhookWorker {
  readonly worker: QueueWorker;
  readonly relaySenders: Readonly<Record<string, OutboxSender>>;
}

/** A request waits up to ten seconds for its endpoint and costs next to nothing meanwhile. */
const MAX_ATTEMPTS_AT_ONCE = 400;

/** The queue `webhooks`: deliveries and their retention; and what the relay starts for them. */
export const createWebhookWorker = (deps: WebhookWorkerDeps): WebhookWorker => {
  const { config, db, clock, keyRing: keys, outbound } = deps;
  return {
    worker: {
      queue: queues.webhooks,
      workflowBundle: deps.workflowBundle,
      activities: createWebhookActivities({
        db,
        clock,
        keys,
        outbound,
        schedule: config.SVC_WEBHOOK_RETRY_SCHEDULE,
        retentionDays: config.SVC_WEBHOOK_RETENTION_DAYS,
      }),
      options: { maxConcurrentLocalActivityExecutions: MAX_ATTEMPTS_AT_ONCE },
    },
    relaySenders: { [DELIVERY_TOPIC]: createDeliveryStarter(deps.client) },
  };
};
