import { AzureKeyCredential, EventGridPublisherClient } from '@azure/eventgrid';
import type { TokenCredential } from '@azure/core-auth';
import type { VendingConfig } from '../../domain/config/vending.js';
import { PROVISIONED_EVENT } from '../../domain/vending/run.js';
import type { ProvisioningResult } from '../../domain/vending/run.js';
import { subscriptionScope } from '../../domain/vending/subscription.js';
import { withScope } from './azure/client.js';
import { cloudCall } from './azure/faults.js';

const DATA_VERSION = '1';
const SOURCE = '/keystead/vending';

/** Publishes the outcome of a run. The event id is the run's, so that a repeat can be recognised. */
export type PublishOutcome = (runId: string, at: Date, result: ProvisioningResult) => Promise<void>;

/** Undefined when no topic is configured. */
export const createOutcomePublisher = (
  config: VendingConfig,
  identity: TokenCredential,
  ca: string[] | undefined,
): PublishOutcome | undefined => {
  const { VENDING_EVENT_TOPIC_ENDPOINT: endpoint, VENDING_EVENT_TOPIC_KEY: key } = config;
  if (endpoint === undefined) return undefined;
  const credential =
    key === undefined ? withScope(identity, config.VENDING_EVENT_TOPIC_SCOPE) : new AzureKeyCredential(key);
  const options = {
    retryOptions: { maxRetries: 0 },
    ...(ca === undefined ? {} : { tlsOptions: { ca: ca as never } }),
  };
  const publish = (send: (call: { abortSignal: AbortSignal }) => Promise<void>) =>
    cloudCall('publish the event', send);
  if (config.VENDING_EVENT_TOPIC_SCHEMA === 'cloud_events') {
    const client = new EventGridPublisherClient(endpoint, 'CloudEvent', credential, options);
    return (id, time, data) =>
      publish((call) =>
        client.send(
          [
            {
              id,
              time,
              type: PROVISIONED_EVENT,
              source: SOURCE,
              subject: subscriptionScope(data.subscription_id),
              data,
            },
          ],
          call,
        ),
      );
  }
  const client = new EventGridPublisherClient(endpoint, 'EventGrid', credential, options);
  return (id, eventTime, data) =>
    publish((call) =>
      client.send(
        [
          {
            id,
            eventTime,
            eventType: PROVISIONED_EVENT,
            subject: subscriptionScope(data.subscription_id),
            dataVersion: DATA_VERSION,
            data,
          },
        ],
        call,
      ),
    );
};
