import { count, flag, optionalText, secret, text } from './env.js';
import type { Settings } from './env.js';

/** The connection to the Temporal cluster, shared by gateways, workers and the SRE tools. */
export const temporalSettings = {
  TEMPORAL_ADDRESS: text(
    '127.0.0.1:7233',
    'host:port of the Temporal frontend. `npm start` runs a dev server when this is not set.',
  ),
  TEMPORAL_NAMESPACE: text('default', 'Namespace of all workflows.'),
  TEMPORAL_API_KEY: secret('API key of a Temporal cloud namespace; switches TLS on.'),
  TEMPORAL_TLS: flag(false, 'Connect with TLS. Implied by a client certificate or an API key.'),
  TEMPORAL_TLS_CA_PATH: optionalText('PEM file of the CA that signed the server certificate.'),
  TEMPORAL_TLS_CERT_PATH: optionalText('PEM file of the client certificate (mTLS).'),
  TEMPORAL_TLS_KEY_PATH: optionalText('PEM file of the client key (mTLS).'),
  TEMPORAL_TLS_SERVER_NAME: optionalText('Name to expect in the server certificate.'),
  TEMPORAL_UI_URL: text(
    'http://127.0.0.1:8233',
    'Base address of the Temporal UI, for links in tools and answers.',
  ),
  TEMPORAL_METRICS_ADDRESS: optionalText(
    'host:port where the workers serve the Temporal SDK metrics to Prometheus; unset = not served.',
  ),
  TEMPORAL_MAX_CACHED_WORKFLOWS: count(
    400,
    'Workflows that one worker keeps in memory (about 0.2 MB each).',
    10,
    100_000,
  ),
};

export type TemporalConfig = Settings<typeof temporalSettings>;
