import type { Client } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { EventBus } from '../activities/broker/event-bus.js';
import { publishWebhookEvent } from '../activities/broker/publish-event.js';
import type { PendingNodeEvent } from '../domain/broker/events.js';
import { toNodeEvent } from '../domain/broker/events.js';
import { toWebhookEvent } from '../domain/broker/machine-webhooks.js';
import type { WebhookEvent, WebhookEventType } from '../domain/broker/webhook.js';
import type { buildImage, revokeAndWipe, rewrapSecrets } from '../workflows/broker/index.js';
import { wipeCompleted, wipeTold } from '../workflows/broker/messages.js';
import { workflowIds } from '../workflows/ids.js';
import { queues } from '../workflows/queues.js';
import { searchAttributes } from '../workflows/search-attributes.js';
import type { OutboxHandler } from './relay.js';

interface BrokerRelayDeps {
  readonly client: Client;
  readonly bus: EventBus;
  readonly wipeDeadlineSeconds: number;
  /** The config URL behind a token's hash, or null when it cannot be read any more. */
  readonly configUrl: (machineId: string, tokenSha256: string) => Promise<string | null>;
}

const aboutMachine = (machineId: string): TypedSearchAttributes =>
  new TypedSearchAttributes([{ key: searchAttributes.machineId, value: machineId }]);

const joinRunning = (error: unknown): void => {
  if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
};

const ignoreFinished = (error: unknown): void => {
  if (!(error instanceof WorkflowNotFoundError)) throw error;
};

/** What the broker's outbox rows mean. Each may run twice: ids are deterministic, signals say what is so. */
export const brokerRelayHandlers = (deps: BrokerRelayDeps): Readonly<Record<string, OutboxHandler>> => {
  const { client, bus } = deps;
  const revocation = (machineId: string) => client.workflow.getHandle(workflowIds.revoke(machineId));
  return {
    event: async ({ key, payload, createdAt }, trx) => {
      const pending = payload as unknown as PendingNodeEvent;
      const hash = pending.tokenSha256;
      const told = toWebhookEvent(pending);
      if (told !== undefined) await publishWebhookEvent(trx, told, { now: new Date(createdAt) });
      const configUrl = typeof hash === 'string' ? await deps.configUrl(key, hash) : null;
      bus.emit(toNodeEvent(pending, new Date(createdAt).toISOString(), configUrl));
    },
    'machine-event': async ({ key, payload, createdAt }, trx) => {
      const { event, data } = payload as { event: WebhookEventType; data: WebhookEvent['data'] };
      const told = { eventType: event, machineId: key, data };
      await publishWebhookEvent(trx, told, { now: new Date(createdAt) });
    },
    'build-image': async ({ key }) => {
      await client.workflow
        .start<typeof buildImage>('buildImage', {
          workflowId: workflowIds.image(key),
          taskQueue: queues.broker,
          args: [key],
          typedSearchAttributes: aboutMachine(key),
        })
        .then(() => undefined, joinRunning);
    },
    'revoke-and-wipe': async ({ key }) => {
      await client.workflow
        .start<typeof revokeAndWipe>('revokeAndWipe', {
          workflowId: workflowIds.revoke(key),
          taskQueue: queues.broker,
          args: [{ machineId: key, deadlineSeconds: deps.wipeDeadlineSeconds }],
          typedSearchAttributes: aboutMachine(key),
        })
        .then(() => undefined, joinRunning);
    },
    'rewrap-secrets': async () => {
      await client.workflow
        .start<typeof rewrapSecrets>('rewrapSecrets', {
          workflowId: workflowIds.rewrap(),
          taskQueue: queues.broker,
        })
        .then(() => undefined, joinRunning);
    },
    'wipe-told': ({ key }) => revocation(key).signal(wipeTold).catch(ignoreFinished),
    'wipe-completed': ({ key }) => revocation(key).signal(wipeCompleted).catch(ignoreFinished),
  };
};
