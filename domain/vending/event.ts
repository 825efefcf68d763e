import { z } from 'zod';
import { AppError } from '../errors.js';
import { plainText } from '../plain-text.js';
import { isManagementGroupId, isSubscriptionId } from './subscription.js';
import type { ProvisioningRequest } from './subscription.js';

/** One subscription-created event; `source` and `id` together are its identity (CloudEvents 1.0 section 3.1). */
export interface SubscriptionCreated extends ProvisioningRequest {
  readonly source: string;
  readonly id: string;
}

export type Delivery =
  | { readonly kind: 'handshake'; readonly validationCode: string }
  | { readonly kind: 'events'; readonly created: readonly SubscriptionCreated[]; readonly ignored: number };

const VALIDATION = 'Microsoft.EventGrid.SubscriptionValidationEvent';
/** POST is documented as an action, PUT as a write; no public sample settles which one an alias sends. */
const CREATED = new Set([
  'microsoft.resources.resourceactionsuccess',
  'microsoft.resources.resourcewritesuccess',
]);
const OPERATION = 'microsoft.subscription/aliases/write';
const SCOPE = /\/subscriptions\/([^/]+)/i;
const MAX_EVENTS = 5000;

const id = plainText(256, 1);
const EventGridEvent = z.object({
  id,
  topic: plainText(2048).default(''),
  subject: plainText(2048),
  eventType: z.string().min(1).max(256),
  data: z.unknown(),
});
const CloudEvent = z.object({
  id,
  specversion: z.literal('1.0'),
  source: plainText(2048, 1),
  subject: plainText(2048).default(''),
  type: z.string().min(1).max(256),
  data: z.unknown(),
});
const ResourceData = z.object({
  operationName: z.string(),
  status: z.string().default('Succeeded'),
  resourceUri: z.string().default(''),
  displayName: plainText(256).catch(''),
  managementGroupId: z.string().default(''),
});

interface Envelope {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly data: unknown;
}

/**
 * Reads what an event delivery service posted: an Event Grid array, one CloudEvent or a batch of them.
 * Throws `malformed` for anything that can never become deliverable; unrelated events are only counted.
 */
export const readDelivery = (body: unknown, eventTypeHeader: string | undefined): Delivery => {
  const items: unknown[] = Array.isArray(body) ? body : [body];
  if (body === undefined || items.length === 0) throw malformed('Empty event payload');
  if (items.length > MAX_EVENTS) throw new AppError('too_large', `At most ${MAX_EVENTS} events at once`);
  const envelopes = items.map(readEnvelope);
  const [first] = envelopes;
  if (first !== undefined && isHandshake(first, eventTypeHeader)) return readHandshake(envelopes);
  const created = envelopes.map(readCreated).filter((event) => event !== undefined);
  return { kind: 'events', created, ignored: envelopes.length - created.length };
};

const malformed = (message: string): AppError => new AppError('malformed', message);

const readEnvelope = (item: unknown): Envelope => {
  if (typeof item !== 'object' || item === null) throw malformed('Event is not an object');
  if ('specversion' in item) {
    const event = CloudEvent.safeParse(item);
    if (!event.success) throw malformed('Event is not a CloudEvents 1.0 envelope');
    return event.data;
  }
  const event = EventGridEvent.safeParse(item);
  if (!event.success) throw malformed('Event needs id, subject, eventType and data');
  const { topic, eventType, ...rest } = event.data;
  return { ...rest, source: topic, type: eventType };
};

const isHandshake = (event: Envelope, header: string | undefined): boolean =>
  header?.toLowerCase() === 'subscriptionvalidation' || event.type.toLowerCase() === VALIDATION.toLowerCase();

const readHandshake = (events: readonly Envelope[]): Delivery => {
  if (events.length !== 1) throw malformed('A handshake is exactly one event');
  const data = z.object({ validationCode: z.string().min(1).max(512) }).safeParse(events[0]?.data);
  if (!data.success) throw malformed("Event data missing 'validationCode'");
  return { kind: 'handshake', validationCode: data.data.validationCode };
};

const readCreated = (event: Envelope): SubscriptionCreated | undefined => {
  if (!CREATED.has(event.type.toLowerCase())) return undefined;
  if (typeof event.data !== 'object' || event.data === null || Array.isArray(event.data)) {
    throw malformed('Event data is not an object');
  }
  const data = ResourceData.safeParse(event.data);
  if (!data.success || !isSuccessfulAliasWrite(data.data)) return undefined;
  const subscriptionId = subscriptionOf(data.data.resourceUri) ?? subscriptionOf(event.subject);
  if (subscriptionId === undefined) return undefined;
  const { displayName, managementGroupId } = data.data;
  return {
    source: event.source,
    id: event.id,
    subscriptionId,
    subscriptionName: displayName,
    managementGroupId: isManagementGroupId(managementGroupId) ? managementGroupId : '',
  };
};

const isSuccessfulAliasWrite = (data: z.infer<typeof ResourceData>): boolean =>
  data.operationName.toLowerCase().includes(OPERATION) && data.status.toLowerCase() === 'succeeded';

const subscriptionOf = (path: string): string | undefined => {
  const found = SCOPE.exec(path)?.[1];
  return found !== undefined && isSubscriptionId(found) ? found : undefined;
};
