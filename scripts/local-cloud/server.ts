import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Router from '@koa/router';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import type { Logger } from '../../domain/logger.js';
import { defaultMapping, ORGANIZATION } from '../../domain/vending/environment.js';
import { mountControl } from './control.js';
import { createEventDelivery } from './event-delivery.js';
import type { EventSubscription } from './event-delivery.js';
import { mountTopic } from './event-topic.js';
import { withFaults } from './faults.js';
import { createIdentity } from './identity.js';
import type { LocalIdentity } from './identity.js';
import { mountManagement } from './management.js';
import { mountServices } from './services.js';
import { openStore } from './store.js';
import type { Store } from './store.js';
import { mountTickets } from './tickets.js';
import { localTls } from './tls.js';

export interface LocalCloudOptions {
  /** Where certificates and the journal are kept; a restart remembers. */
  readonly dir: string;
  readonly log: Logger;
  /** 0: any free port. */
  readonly port?: number;
  /** Factor on the waits of the event delivery; 1 is the documented schedule. */
  readonly retryScale?: number;
}

export interface LocalCloud {
  /** `https://127.0.0.1:<port>`: management API, authority, topic, tickets, services and `/control`. */
  readonly origin: string;
  readonly caFile: string;
  /** The `VENDING_` settings with which the product uses this cloud. */
  readonly settings: Readonly<Record<string, string>>;
  readonly store: Store;
  readonly identity: LocalIdentity;
  /** Delivers events there as soon as the endpoint answers the handshake. */
  readonly announceTo: (subscription: EventSubscription) => void;
  readonly close: () => Promise<void>;
}

const TENANT = '7d1f3c52-9f0e-4b52-8a7e-3f0c5d2b9e10';
const CLIENT = { id: 'b7c0f7a2-54b1-4f5d-9f0a-2d3c4b5a6978', secret: 'local-cloud-client' };
const TICKET_USER = { user: 'vending', password: 'local-cloud-tickets' };
const TOPIC_KEY = 'local-cloud-topic';
const PRINCIPALS = {
  VENDING_PLATFORM_SPN_OBJECT_ID: ['11111111-1111-4111-8111-111111111111', 'ServicePrincipal'],
  VENDING_OPS_GROUP_OBJECT_ID: ['22222222-2222-4222-8222-222222222222', 'Group'],
  VENDING_SECURITY_GROUP_OBJECT_ID: ['33333333-3333-4333-8333-333333333333', 'Group'],
  VENDING_FINOPS_GROUP_OBJECT_ID: ['44444444-4444-4444-8444-444444444444', 'Group'],
} as const;

/** Starts the simulated cloud over https with a local authority. The product reaches it through the same SDK clients as the real one. */
export const startLocalCloud = async (options: LocalCloudOptions): Promise<LocalCloud> => {
  const { dir, log, port = 0, retryScale = 1 } = options;
  const tls = await localTls(join(dir, 'tls'));
  const store = openStore(dir);
  seed(store);
  let origin = '';
  const identity = await createIdentity({
    store,
    origin: () => origin,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
  });
  const delivery = createEventDelivery(store, log, retryScale);

  const router = new Router();
  identity.mount(router);
  mountManagement(router, { store, identity, tenantId: TENANT });
  mountTopic(router, store, identity, TOPIC_KEY);
  mountTickets(router, store, TICKET_USER.user, TICKET_USER.password);
  mountServices(router, store);
  mountControl(router, store, delivery);
  const app = new Koa();
  app.use(withFaults(store));
  app.use(
    koaBody({
      json: true,
      text: false,
      urlencoded: true,
      jsonLimit: '2mb',
      jsonTypes: ['json', '+json'],
    }),
  );
  app.use(router.routes());
  app.on('error', (error: Error) => log.debug({ err: error }, 'local cloud'));

  const server = createServer({ cert: tls.cert, key: tls.key }, app.callback() as never);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    caFile: tls.caFile,
    settings: settingsFor(origin, tls.caFile),
    store,
    identity,
    announceTo: (subscription) => delivery.subscribeLater(subscription),
    close: async () => {
      await delivery.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** What every tenant has from the start: the default groups and the principals that get roles. */
const seed = (store: Store): void => {
  const groups = Object.values(JSON.parse(defaultMapping) as Record<string, string>);
  for (const group of [ORGANIZATION, ...groups]) {
    if (store.get('groups', group.toLowerCase()) === undefined)
      store.put('groups', group.toLowerCase(), group);
  }
  for (const [id, type] of Object.values(PRINCIPALS)) {
    if (store.get('principals', id) === undefined) store.put('principals', id, type);
  }
};

const settingsFor = (origin: string, caFile: string): Record<string, string> => ({
  VENDING_CLOUD_TENANT_ID: TENANT,
  VENDING_CLOUD_CLIENT_ID: CLIENT.id,
  VENDING_CLOUD_CLIENT_SECRET: CLIENT.secret,
  VENDING_CLOUD_ENDPOINT: origin,
  VENDING_CLOUD_AUTHORITY_HOST: origin,
  VENDING_CA_FILE: caFile,
  VENDING_AUTHORIZATION_SERVICE_URL: origin,
  VENDING_EVENT_TOPIC_ENDPOINT: `${origin}/topic/api/events`,
  VENDING_EVENT_TOPIC_KEY: TOPIC_KEY,
  ...Object.fromEntries(Object.entries(PRINCIPALS).map(([name, [id]]) => [name, id])),
});

/** Further settings that switch the ticket gate and the feedback on. */
export const ticketSettings = (origin: string): Record<string, string> => ({
  VENDING_TICKET_INSTANCE: new URL(origin).host,
  VENDING_TICKET_USER: TICKET_USER.user,
  VENDING_TICKET_PASSWORD: TICKET_USER.password,
});
