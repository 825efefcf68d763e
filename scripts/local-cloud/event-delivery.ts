import { randomUUID } from 'node:crypto';
import type { Logger } from '../../domain/logger.js';
import { ArmFault } from './model.js';
import type { Store } from './store.js';

/** Seconds before the tries after the first, as the delivery service documents them. */
const SCHEDULE_SECONDS = [10, 30, 60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600];
const GIVE_UP_STATUS = new Set([400, 401, 403, 413]);
const RESPONSE_LIMIT_MS = 30_000;
const HANDSHAKE_PAUSE_MS = 1_000;

export interface EventSubscription {
  readonly name: string;
  readonly endpoint: string;
  readonly sasKey: string;
}

interface PendingDelivery {
  readonly id: string;
  readonly subscription: string;
  readonly event: object;
  readonly attempts: number;
}

/**
 * Delivers subscription-created events to webhooks as the event delivery service does: handshake first, at least once,
 * with its retry schedule (times `retryScale`), and dead letters for what a receiver calls wrong.
 */
export const createEventDelivery = (store: Store, log: Logger, retryScale: number) => {
  const timers = new Set<NodeJS.Timeout>();
  const inFlight = new Set<Promise<void>>();
  let closed = false;
  const isClosed = () => closed;

  const later = (delivery: PendingDelivery, delayMs: number): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      const sending = attempt(delivery).finally(() => inFlight.delete(sending));
      inFlight.add(sending);
    }, delayMs);
    timers.add(timer);
  };

  const attempt = async (delivery: PendingDelivery): Promise<void> => {
    const target = store.get<EventSubscription>('eventSubscriptions', delivery.subscription);
    if (target === undefined || isClosed()) return;
    const status = await post(target, [delivery.event], {
      'aeg-delivery-count': String(delivery.attempts),
    }).catch(() => 0);
    if (isClosed()) return;
    if (status >= 200 && status <= 204) {
      store.remove('pendingDeliveries', delivery.id);
      return;
    }
    const wait = SCHEDULE_SECONDS[delivery.attempts];
    log.debug({ id: delivery.id, status, attempts: delivery.attempts }, 'event delivery failed');
    if (GIVE_UP_STATUS.has(status) || wait === undefined) {
      store.put('deadLetters', delivery.id, { ...delivery, deadLetterReason: `status ${status}` });
      store.remove('pendingDeliveries', delivery.id);
      return;
    }
    const next = { ...delivery, attempts: delivery.attempts + 1 };
    store.put('pendingDeliveries', delivery.id, next);
    later(next, wait * 1000 * retryScale);
  };

  /** Performs the handshake; throws when the endpoint does not answer it. */
  const subscribe = async (subscription: EventSubscription): Promise<void> => {
    const code = randomUUID();
    const answer = await send(subscription, [validationEvent(code)], {
      'aeg-event-type': 'SubscriptionValidation',
    });
    const { validationResponse } = (await answer.json().catch(() => ({}))) as { validationResponse?: string };
    if (answer.status !== 200 || validationResponse !== code) {
      throw new ArmFault(400, 'Url validation', `the endpoint answered ${answer.status} to the handshake`);
    }
    store.put('eventSubscriptions', subscription.name, subscription);
  };
  const subscribeLater = (subscription: EventSubscription): void => {
    const again = () => {
      const timer = setTimeout(() => {
        timers.delete(timer);
        subscribeLater(subscription);
      }, HANDSHAKE_PAUSE_MS);
      timers.add(timer);
    };
    subscribe(subscription).catch(() => (isClosed() ? undefined : again()));
  };

  for (const delivery of store.all<PendingDelivery>('pendingDeliveries')) later(delivery, 0);
  return {
    subscribe,
    /** The same, tried until the endpoint is there. */
    subscribeLater,
    /** Queues an event for every event subscription. */
    publish: (event: { readonly id: string }): void => {
      for (const { name } of store.all<EventSubscription>('eventSubscriptions')) {
        const delivery = { id: `${name}:${event.id}`, subscription: name, event, attempts: 0 };
        store.put('pendingDeliveries', delivery.id, delivery);
        later(delivery, 0);
      }
    },
    close: async (): Promise<void> => {
      closed = true;
      timers.forEach(clearTimeout);
      await Promise.all(inFlight);
    },
  };
};

export type EventDelivery = ReturnType<typeof createEventDelivery>;

const send = (
  target: EventSubscription,
  events: object[],
  headers: Record<string, string>,
): Promise<Response> =>
  fetch(target.endpoint, {
    method: 'POST',
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'aeg-event-type': 'Notification',
      'aeg-subscription-name': target.name.toUpperCase(),
      'aeg-metadata-version': '1',
      ...(target.sasKey === '' ? {} : { 'aeg-sas-key': target.sasKey }),
      ...headers,
    },
    body: JSON.stringify(events),
    signal: AbortSignal.timeout(RESPONSE_LIMIT_MS),
  });

const post = async (...args: Parameters<typeof send>): Promise<number> => {
  const answer = await send(...args);
  await answer.arrayBuffer();
  return answer.status;
};

const validationEvent = (code: string): object => ({
  id: randomUUID(),
  topic: '/subscriptions/local',
  subject: '',
  eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
  eventTime: new Date().toISOString(),
  metadataVersion: '1',
  dataVersion: '2',
  data: { validationCode: code, validationUrl: 'https://localhost/validate' },
});

/** The event that a new subscription causes, in the Event Grid schema. */
export const subscriptionCreatedEvent = (
  subscription: { id: string; displayName: string },
  group: string,
) => ({
  id: randomUUID(),
  topic: '/providers/Microsoft.Subscription',
  subject: `/subscriptions/${subscription.id}`,
  eventType: 'Microsoft.Resources.ResourceActionSuccess',
  eventTime: new Date().toISOString(),
  metadataVersion: '1',
  dataVersion: '2',
  data: {
    operationName: 'Microsoft.Subscription/aliases/write',
    resourceProvider: 'Microsoft.Subscription',
    resourceUri: `/subscriptions/${subscription.id}`,
    status: 'Succeeded',
    displayName: subscription.displayName,
    managementGroupId: group,
    subscriptionId: subscription.id,
  },
});
