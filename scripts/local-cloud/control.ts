import { randomUUID } from 'node:crypto';
import type Router from '@koa/router';
import { z } from 'zod';
import { subscriptionCreatedEvent } from './event-delivery.js';
import type { EventDelivery } from './event-delivery.js';
import type { LocalFault, LocalSubscription, LocalTicket } from './model.js';
import type { Store } from './store.js';

const Subscription = z.object({
  subscription_id: z.string().min(1).optional(),
  display_name: z.string().default('local subscription'),
  tags: z.record(z.string(), z.string()).default({}),
  management_group_id: z.string().default(''),
  /** Seconds for which writes are refused, as on a fresh subscription. */
  settling_seconds: z.number().min(0).default(0),
  /** Whether the event subscriptions are told. */
  announce: z.boolean().default(true),
});
const Fault = z.object({
  method: z.string().default('PUT'),
  path: z.string(),
  times: z.number().int().min(1).default(1),
  status: z.number().int(),
  code: z.string().default('InternalServerError'),
  retry_after_seconds: z.number().optional(),
  delay_ms: z.number().optional(),
});
const Ticket = z.object({
  number: z.string(),
  table: z.string().default('sc_req_item'),
  state: z.string().default('1'),
  approval: z.string().default('requested'),
  short_description: z.string().default(''),
});
const EventSubscription = z.object({
  name: z.string().default('vending'),
  endpoint: z.url(),
  sas_key: z.string().default(''),
});

const COLLECTIONS = [
  'subscriptions',
  'roleAssignments',
  'policyAssignments',
  'budgets',
  'initiatives',
  'published',
  'tickets',
  'notices',
  'pendingDeliveries',
  'deadLetters',
] as const;

/** Drives the local cloud: what exists in it, what happens next, and what was done to it. */
export const mountControl = (router: Router, store: Store, delivery: EventDelivery): void => {
  router.post('/control/subscriptions', (ctx) => {
    const wanted = Subscription.parse(ctx.request.body ?? {});
    const made: LocalSubscription = {
      id: wanted.subscription_id ?? randomUUID(),
      displayName: wanted.display_name,
      tags: wanted.tags,
      writableAt: Date.now() + wanted.settling_seconds * 1000,
      group: '',
    };
    store.put('subscriptions', made.id.toLowerCase(), made);
    if (wanted.announce) delivery.publish(subscriptionCreatedEvent(made, wanted.management_group_id));
    ctx.status = 201;
    ctx.body = { subscription_id: made.id };
  });
  router.post('/control/event-subscriptions', async (ctx) => {
    const { sas_key: sasKey, ...rest } = EventSubscription.parse(ctx.request.body);
    await delivery.subscribe({ ...rest, sasKey });
    ctx.status = 201;
    ctx.body = { name: rest.name };
  });
  router.post('/control/groups', (ctx) => {
    const { groups } = z.object({ groups: z.array(z.string()) }).parse(ctx.request.body);
    for (const group of groups) store.put('groups', group.toLowerCase(), group);
    ctx.status = 204;
  });
  router.post('/control/principals', (ctx) => {
    const entry = z
      .object({ principal_id: z.string(), type: z.string(), absent_for: z.number().int().min(0).default(0) })
      .parse(ctx.request.body);
    store.put('principals', entry.principal_id, entry.type);
    store.put('absentPrincipals', entry.principal_id, entry.absent_for);
    ctx.status = 204;
  });
  router.post('/control/tickets', (ctx) => {
    const ticket: LocalTicket = {
      ...Ticket.parse(ctx.request.body),
      sys_id: randomUUID().replaceAll('-', ''),
      work_notes: [],
    };
    store.put('tickets', ticket.number, ticket);
    ctx.status = 201;
    ctx.body = { sys_id: ticket.sys_id };
  });
  router.post('/control/faults', (ctx) => {
    const {
      retry_after_seconds: retryAfterSeconds,
      delay_ms: delayMs,
      ...rest
    } = Fault.parse(ctx.request.body);
    const fault: LocalFault = {
      id: randomUUID(),
      ...rest,
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      ...(delayMs === undefined ? {} : { delayMs }),
    };
    store.put('faults', fault.id, fault);
    ctx.status = 201;
    ctx.body = { id: fault.id };
  });
  router.get('/control/state', (ctx) => {
    ctx.body = Object.fromEntries(COLLECTIONS.map((name) => [name, store.all(name)]));
  });
};
