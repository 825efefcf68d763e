import type { Client } from '@temporalio/client';
import type { Knex } from 'knex';
import { createConfigTokens } from '../activities/broker/config-tokens.js';
import type { EventBus } from '../activities/broker/event-bus.js';
import { createImageActivities } from '../activities/broker/image.js';
import { createImageSource } from '../activities/broker/image-source.js';
import { createVoteActivities } from '../activities/broker/votes.js';
import { createRewrapActivities } from '../activities/broker/rewrap.js';
import { createWipeActivities } from '../activities/broker/wipe.js';
import type { KeyRing } from '../activities/crypto/key-ring.js';
import type { SvcConfig } from '../domain/config/svc.js';
import { queues } from '../workflows/queues.js';
import { brokerRelayHandlers } from './relay-handlers.js';
import type { OutboxHandler } from './relay.js';
import type { QueueWorker } from './run.js';

export interface BrokerWorkerDeps {
  readonly config: SvcConfig;
  readonly db: Knex;
  readonly client: Client;
  readonly bus: EventBus;
  readonly keyRing: KeyRing;
  readonly workflowBundle: NonNullable<QueueWorker['workflowBundle']>;
}

export interface BrokerWorker {
  readonly worker: QueueWorker;
  readonly relayHandlers: Readonly<Record<string, OutboxHandler>>;
  readonly close: () => Promise<void>;
}

/** The queue `broker`: the dual-control window, wipes, images; and what the relay does for the broker. */
export const createBrokerWorker = (deps: BrokerWorkerDeps): BrokerWorker => {
  const { config, db, keyRing } = deps;
  const tokens = createConfigTokens(keyRing, config.SVC_SERVICE_URL);
  const images = createImageSource(config);
  return {
    worker: {
      queue: queues.broker,
      workflowBundle: deps.workflowBundle,
      activities: {
        ...createVoteActivities(db, tokens),
        ...createWipeActivities(db),
        ...createRewrapActivities(db, keyRing),
        ...createImageActivities({ db, tokens, imageFor: images.imageFor }),
      },
    },
    relayHandlers: brokerRelayHandlers({
      client: deps.client,
      bus: deps.bus,
      wipeDeadlineSeconds: config.SVC_WIPE_DEADLINE_SECONDS,
      configUrl: async (machineId, sha256) => {
        const token = await tokens.read(db, machineId, sha256);
        return token === undefined ? null : tokens.url(token);
      },
    }),
    close: () => images.close(),
  };
};
