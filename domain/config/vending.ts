import { z } from 'zod';
import { defaultMapping, ORGANIZATION } from '../vending/environment.js';
import type { DefaultPolicy } from '../vending/plan.js';
import {
  ConfigError,
  count,
  custom,
  flag,
  list,
  oneOf,
  optionalUrl,
  parseSettings,
  port,
  secret,
  text,
  url,
} from './env.js';
import type { Env, Settings } from './env.js';

const required = (doc: string) => custom(z.string('is required').min(1, 'is required'), doc);
const seconds = (fallback: number, doc: string) => count(fallback, `${doc} Seconds.`, 1, 300);

const PolicyList = z.array(
  z
    .object({
      name: z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must be 1 to 64 letters, digits, . _ or -'),
      definition_id: z.string().startsWith('/').max(512),
      display_name: z.string().max(128).default(''),
    })
    .transform(({ name, definition_id, display_name }): DefaultPolicy => ({
      name,
      definitionId: definition_id,
      displayName: display_name || name,
    })),
);

const policies = z
  .string()
  .default('[]')
  .transform((json, ctx): unknown => {
    try {
      return JSON.parse(json);
    } catch {
      ctx.addIssue('must be a JSON list of {name, definition_id, display_name}');
      return z.NEVER;
    }
  })
  .pipe(PolicyList);

const httpsOnly = (value: string | undefined) => value === undefined || value.startsWith('https://');

const cloudSettings = {
  VENDING_CLOUD_TENANT_ID: required('Directory tenant of the cloud.'),
  VENDING_CLOUD_CLIENT_ID: text('', 'Service principal; empty means managed identity.'),
  VENDING_CLOUD_CLIENT_SECRET: secret('Secret of the service principal.'),
  VENDING_CLOUD_ENDPOINT: url(
    'https://management.azure.com',
    'Management API; another one for a sovereign cloud.',
  ),
  VENDING_CLOUD_AUTHORITY_HOST: url('https://login.microsoftonline.com', 'Where tokens are issued.'),
  VENDING_CLOUD_SCOPE: text(
    '',
    'Token scope of the management API; empty means its address and `/.default`.',
  ),
  VENDING_CA_FILE: text(
    '',
    'PEM file with authorities to trust beside the public ones, for every outbound call.',
  ),
  VENDING_ROOT_MANAGEMENT_GROUP: text(ORGANIZATION, 'Group used when the chosen one does not exist.'),
  VENDING_ENVIRONMENT_MG_MAPPING: text(defaultMapping, 'JSON map of environment to management group.'),
  VENDING_PLATFORM_SPN_OBJECT_ID: text('', 'Service principal given Owner.'),
  VENDING_OPS_GROUP_OBJECT_ID: text('', 'Group given Contributor.'),
  VENDING_SECURITY_GROUP_OBJECT_ID: text('', 'Group given Security Reader.'),
  VENDING_FINOPS_GROUP_OBJECT_ID: text('', 'Group given Cost Management Reader.'),
  VENDING_DEFAULT_POLICIES: custom(
    policies,
    'JSON list of policies to assign: name, definition_id, display_name.',
    '[]',
  ),
  VENDING_DEFAULT_ALERT_EMAIL: text('', 'Budget alerts go here when no owner tag says otherwise.'),
  VENDING_AUTHORIZATION_SERVICE_URL: url(
    'http://authorization:8004',
    'Attaches the foundation policy initiative.',
  ),
  VENDING_KEYCLOAK_URL: url('http://keycloak:8080', 'Identity provider.'),
  VENDING_KEYCLOAK_REALM: text(ORGANIZATION.toLowerCase(), 'Realm at the identity provider.'),
  VENDING_TAG_ENVIRONMENT: text('svc-environment', 'Tag that selects the management group.'),
  VENDING_TAG_K8S: text('svc-k8s', 'Tag that marks a subscription for the Kubernetes base chart.'),
  VENDING_TAG_BUDGET: text('svc-budget', 'Tag with the monthly budget in EUR.'),
  VENDING_TAG_OWNER: text('svc-owner', 'Tag with the contact of budget alerts.'),
  VENDING_TAG_TICKET: text('svc-ticket', 'Tag with the ticket that approves the subscription.'),
} as const;

const serviceSettings = {
  VENDING_HOST: text('127.0.0.1', 'Address to listen on.'),
  VENDING_PORT: port(8000, 'Port to listen on.'),
  VENDING_MOCK_MODE: flag(false, 'Mounts `POST /webhook/test`; never in production.'),
  VENDING_MAX_CONCURRENT_RUNS: count(40, 'Runs in progress at once; the rest waits in the inbox.', 1, 10_000),
  VENDING_WORKER_SECRET: secret(
    'Expected in `x-worker-secret` and `x-replay-secret`; empty disables the check.',
  ),
  VENDING_API_IDP_TENANT_ID: text('', 'Tenant whose access tokens are required; empty leaves the API open.'),
  VENDING_API_IDP_AUDIENCE: text('', 'Expected `aud` claim.'),
  VENDING_API_IDP_REQUIRED_ROLE: text(
    '',
    'Role that a token must carry; empty allows any caller with a token.',
  ),
  VENDING_API_IDP_AUTHORITY: url(
    'https://login.microsoftonline.com',
    'Issuer of the access tokens, without the tenant.',
  ),
} as const;

const eventSettings = {
  VENDING_EVENT_SAS_KEY: secret('Expected in `aeg-sas-key` of the event webhook.'),
  VENDING_EVENT_SUBSCRIPTION_NAMES: list(
    '',
    'Event subscriptions that may deliver (`aeg-subscription-name`); empty allows any.',
  ),
  VENDING_EVENT_ALLOWED_ORIGINS: list('eventgrid.azure.net', 'Origins that pass the CloudEvents handshake.'),
  VENDING_EVENT_WAIT_SECONDS: count(25, 'How long a delivery waits for its run; 0 answers at once.', 0, 28),
  VENDING_EVENT_TOPIC_ENDPOINT: optionalUrl('When set, an event is published after each run.'),
  VENDING_EVENT_TOPIC_KEY: secret('Access key of the topic; empty means a token of the cloud identity.'),
  VENDING_EVENT_TOPIC_SCOPE: text('https://eventgrid.azure.net/.default', 'Token scope of the topic.'),
  VENDING_EVENT_TOPIC_SCHEMA: oneOf(
    ['event_grid', 'cloud_events'],
    'event_grid',
    'Schema that the topic accepts.',
  ),
} as const;

const queueSettings = {
  VENDING_RETRY_STRATEGY: oneOf(['none', 'dead_letter', 'queue'], 'none', 'What a delivery waits for.'),
  VENDING_STORAGE_ACCOUNT_NAME: text('', 'Storage account of the queues, reached with the cloud identity.'),
  VENDING_STORAGE_CONNECTION_STRING: secret('Connection string of the queues, instead of an account name.'),
  VENDING_STORAGE_ENDPOINT_SUFFIX: text(
    'core.windows.net',
    'Domain of the storage service; another one for a sovereign cloud.',
  ),
  VENDING_PROVISIONING_QUEUE_NAME: text('provisioning-jobs', 'Queue of jobs.'),
  VENDING_PROVISIONING_DLQ_NAME: text('provisioning-jobs-deadletter', 'Queue of jobs given up.'),
  VENDING_QUEUE_MAX_DELIVERY_COUNT: count(5, 'Deliveries before a job is given up.', 1, 1000),
  VENDING_QUEUE_VISIBILITY_TIMEOUT: count(30, 'Seconds before a failed message reappears.', 1, 604_800),
  VENDING_QUEUE_CONSUMER: flag(false, 'The worker reads the queue itself.'),
} as const;

const extensionSettings = {
  VENDING_WEBHOOK_URL: custom(
    z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
    'Told about every outcome.',
  ),
  VENDING_WEBHOOK_SECRET: secret('Sent as `X-Webhook-Secret`, and the key of the signature.'),
  VENDING_WEBHOOK_TIMEOUT: seconds(10, 'Time limit of one call.'),
  VENDING_API_NOTIFY_URL: optionalUrl('Told about every outcome.'),
  VENDING_API_NOTIFY_TOKEN: secret('Sent as bearer token.'),
  VENDING_API_NOTIFY_TIMEOUT: seconds(10, 'Time limit of one call.'),
  VENDING_TICKET_INSTANCE: custom(
    z
      .string()
      .regex(/^[A-Za-z0-9.-]{1,253}(:\d{1,5})?$/, 'must be a host name')
      .default(''),
    'Host of the ticket system; empty switches the gate and the feedback off.',
  ),
  VENDING_TICKET_USER: text('', 'User of the ticket system.'),
  VENDING_TICKET_PASSWORD: secret('Password of that user.'),
  VENDING_TICKET_TABLE: custom(
    z
      .string()
      .regex(/^[a-z0-9_]{1,80}$/, 'must be a table name')
      .default('sc_req_item'),
    'Table of the tickets.',
    'sc_req_item',
  ),
  VENDING_TICKET_REQUIRE_STATE: custom(
    z.string().default('approved'),
    'Approval or state that lets a run pass; empty asks for existence only.',
    'approved',
  ),
  VENDING_TICKET_TIMEOUT: seconds(10, 'Time limit of one call.'),
  VENDING_TICKET_SUCCESS_STATE: text('', 'State written after success; empty leaves it alone.'),
  VENDING_TICKET_FAILURE_STATE: text('', 'State written after failure; empty leaves it alone.'),
} as const;

export const vendingSettings = {
  ...cloudSettings,
  ...serviceSettings,
  ...eventSettings,
  ...queueSettings,
  ...extensionSettings,
} as const;

export type VendingConfig = Settings<typeof vendingSettings>;

/** Settings of the command line and the web UI. */
const USER_INTERFACE = /^VENDING_(?:UI_|API_URL$|TOKEN$)/;

/**
 * Parses the settings of the vending service and the rules between them. Throws ConfigError with every problem.
 * An empty VENDING_TICKET_REQUIRE_STATE means something, unlike every other empty variable.
 */
export const parseVending = (env: Env, readFile: (path: string) => string): VendingConfig => {
  const parsed = parseSettings(vendingSettings, env, {
    readFile,
    strictPrefix: 'VENDING_',
    elsewhere: USER_INTERFACE,
  });
  const config =
    env['VENDING_TICKET_REQUIRE_STATE'] === '' ? { ...parsed, VENDING_TICKET_REQUIRE_STATE: '' } : parsed;
  const problems = conflicts(config);
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
};

const conflicts = (config: VendingConfig): string[] =>
  [
    config.VENDING_CLOUD_CLIENT_ID !== '' &&
      config.VENDING_CLOUD_CLIENT_SECRET === undefined &&
      'VENDING_CLOUD_CLIENT_SECRET: is required with VENDING_CLOUD_CLIENT_ID',
    config.VENDING_API_IDP_TENANT_ID !== '' &&
      config.VENDING_API_IDP_AUDIENCE === '' &&
      'VENDING_API_IDP_AUDIENCE: is required with VENDING_API_IDP_TENANT_ID',
    config.VENDING_RETRY_STRATEGY === 'queue' &&
      !hasStorage(config) &&
      'VENDING_STORAGE_ACCOUNT_NAME: (or VENDING_STORAGE_CONNECTION_STRING) is required by the strategy `queue`',
    config.VENDING_QUEUE_CONSUMER &&
      !hasStorage(config) &&
      'VENDING_QUEUE_CONSUMER: needs VENDING_STORAGE_ACCOUNT_NAME or VENDING_STORAGE_CONNECTION_STRING',
    !httpsOnly(config.VENDING_EVENT_TOPIC_ENDPOINT) && 'VENDING_EVENT_TOPIC_ENDPOINT: must be an https URL',
  ].filter((problem) => problem !== false);

export const hasStorage = (config: VendingConfig): boolean =>
  config.VENDING_STORAGE_CONNECTION_STRING !== undefined || config.VENDING_STORAGE_ACCOUNT_NAME !== '';

export const REDACTED = '***';

/** Every setting under its lower-case name without the prefix, secrets hidden, unset ones as empty text. */
export const redactedView = (config: VendingConfig): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(vendingSettings).map(([name, { secret: hidden }]) => {
      const value = config[name as keyof VendingConfig];
      return [
        name.replace(/^VENDING_/, '').toLowerCase(),
        hidden && value !== undefined ? REDACTED : (value ?? ''),
      ];
    }),
  );
