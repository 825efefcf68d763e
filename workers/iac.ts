import type { Client } from '@temporalio/client';
import type { Knex } from 'knex';
import type { KeyRing } from '../activities/crypto/key-ring.js';
import { iacDeps } from '../activities/iac/deps.js';
import { createIacActivities } from '../activities/iac/index.js';
import { systemClock } from '../domain/clock.js';
import type { IacConfig } from '../domain/config/iac.js';
import { queues } from '../workflows/queues.js';
import { createIacOutboxHandlers } from './iac-outbox.js';
import type { OutboxHandler } from './relay.js';
import type { QueueWorker } from './run.js';

interface IacWorkerDeps {
  readonly config: IacConfig;
  readonly db: Knex;
  readonly client: Client;
  readonly keyRing: KeyRing;
  readonly workflowBundle: NonNullable<QueueWorker['workflowBundle']>;
}

interface IacWorker {
  readonly worker: QueueWorker;
  readonly relayHandlers: Readonly<Record<string, OutboxHandler>>;
}

/** The queue `iac`: the ends of leases and the purge of removed stacks. */
export const createIacWorker = ({
  config,
  db,
  client,
  keyRing,
  workflowBundle,
}: IacWorkerDeps): IacWorker => ({
  worker: {
    queue: queues.iac,
    workflowBundle,
    activities: createIacActivities(iacDeps(config, { db, clock: systemClock, keyRing })),
  },
  relayHandlers: createIacOutboxHandlers(client),
});
