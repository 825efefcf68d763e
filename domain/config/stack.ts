import { optionalText, port, text } from './env.js';
import type { Settings } from './env.js';

/** What `npm start` reads beside the settings of the services that it starts. */
export const stackSettings = {
  STACK_DATA_DIR: text('.data', 'Folder that keeps what `npm start` must remember; one a clone.'),
  PGPORT: port(54_320, 'Port of the embedded PostgreSQL.'),
  TEMPORAL_PORT: port(7233, 'Port of the embedded Temporal server.'),
  TEMPORAL_UI_PORT: port(8233, 'Port of the Temporal web UI.'),
  SVC_PORT: port(8081, 'Port of the broker gateway.'),
  VENDING_PORT: port(8000, 'Port of the vending gateway.'),
  STACK_OIDC_PORT: port(8090, 'Port of the local OpenID issuer; another free one when it is taken.'),
  STACK_FACTORY_PORT: port(8091, 'Port of the local image factory; another free one when it is taken.'),
  STACK_CLOUD_PORT: port(8092, 'Port of the local cloud; another free one when it is taken.'),
  STACK_QUEUE_PORT: port(8093, 'Port of the local queues; another free one when it is taken.'),
  DATABASE_URL: optionalText('A PostgreSQL to use instead of the embedded one.'),
  TEMPORAL_ADDRESS: optionalText('A Temporal server to use instead of the embedded one.'),
  SVC_OIDC_ISSUER: optionalText('An issuer to use instead of the local one.'),
  SVC_FACTORY_URL: optionalText('An image factory to use instead of the local one.'),
  VENDING_CLOUD_TENANT_ID: optionalText('A cloud to use instead of the local one.'),
  VENDING_EVENT_SAS_KEY: optionalText('Key with which the local cloud delivers its events.'),
};

export type StackConfig = Settings<typeof stackSettings>;
