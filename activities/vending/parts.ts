import { buildConnector } from 'undici';
import type { Knex } from 'knex';
import type { Clock } from '../../domain/clock.js';
import type { VendingConfig } from '../../domain/config/vending.js';
import { parseMapping } from '../../domain/vending/environment.js';
import type { PlanRules } from '../../domain/vending/plan.js';
import { defaultGrants } from '../../domain/vending/roles.js';
import { orderSteps } from '../../domain/vending/steps.js';
import type { TagNames } from '../../domain/vending/tags.js';
import { createFoundationSync } from '../adapters/authorization-service.js';
import { createBudgetWriter } from '../adapters/azure/budgets.js';
import { connectArm, trustedAuthorities } from '../adapters/azure/client.js';
import { createGroupMover } from '../adapters/azure/management-groups.js';
import { createPolicyAssigner } from '../adapters/azure/policies.js';
import { createRoleAssigner } from '../adapters/azure/roles.js';
import { createSubscriptionReader } from '../adapters/azure/subscriptions.js';
import { createOutcomePublisher } from '../adapters/event-topic.js';
import { createOutbound } from '../adapters/http.js';
import type { Outbound } from '../adapters/http.js';
import { createApiNotice, createWebhookNotice } from '../adapters/outcome-notices.js';
import { connectQueues } from '../adapters/queue.js';
import type { JobQueues } from '../adapters/queue.js';
import { createTickets } from '../adapters/ticket.js';
import type { Tickets } from '../adapters/ticket.js';
import { createBuiltInSteps } from './built-in-steps.js';
import type { DryRunDeps } from './dry-run.js';
import { createNotificationSteps } from './notification-steps.js';
import type { RegisteredStep } from './step.js';

export interface VendingPartsDeps {
  readonly config: VendingConfig;
  readonly db: Knex;
  readonly clock: Clock;
  /** Steps of the operator's own; see docs/vending.md. */
  readonly extensions?: readonly RegisteredStep[];
}

/** What the settings make of the vending service: shared by the gateway and the worker. */
export interface VendingParts extends DryRunDeps {
  /** In the order in which they run. */
  readonly steps: readonly RegisteredStep[];
  readonly queues: JobQueues | undefined;
  readonly outbound: Outbound;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** Throws when the steps do not form a graph without circles. */
export const createVendingParts = ({
  config,
  db,
  clock,
  extensions = [],
}: VendingPartsDeps): VendingParts => {
  const ca = trustedAuthorities(config.VENDING_CA_FILE);
  const arm = connectArm(config, ca);
  const outbound = createOutbound({
    policy: { trustedOrigins: configuredOrigins(config) },
    dialer: buildConnector({ timeout: CONNECT_TIMEOUT_MS, ...(ca === undefined ? {} : { ca }) }),
  });
  const tickets = ticketsOf(config, outbound);
  const grants = grantsOf(config);
  const publishOutcome = createOutcomePublisher(config, arm.credential, ca);
  const registered = [
    ...createBuiltInSteps({
      db,
      clock,
      rootGroup: config.VENDING_ROOT_MANAGEMENT_GROUP,
      grants,
      policies: config.VENDING_DEFAULT_POLICIES,
      moveToGroup: createGroupMover(arm),
      syncFoundation: createFoundationSync(outbound, config.VENDING_AUTHORIZATION_SERVICE_URL),
      assignRole: createRoleAssigner(arm),
      assignPolicy: createPolicyAssigner(arm),
      writeBudget: createBudgetWriter(arm, clock),
      publishOutcome,
    }),
    ...createNotificationSteps({ clock, tickets, ...noticesOf(config, outbound) }),
    ...extensions,
  ];
  const definitions = orderSteps(registered.map(({ definition }) => definition));
  const steps = definitions.flatMap((wanted) => registered.filter(({ definition }) => definition === wanted));
  const rules: PlanRules = {
    mapping: parseMapping(config.VENDING_ENVIRONMENT_MG_MAPPING),
    grants,
    policies: config.VENDING_DEFAULT_POLICIES,
    defaultAlertEmail: config.VENDING_DEFAULT_ALERT_EMAIL,
    publishesEvent: publishOutcome !== undefined,
    steps: definitions,
  };
  return {
    rules,
    tagNames: tagNamesOf(config),
    gates: tickets === undefined ? [] : [{ name: 'ticket', check: tickets.check }],
    readSubscription: createSubscriptionReader(arm),
    steps,
    queues: connectQueues(config, arm.credential),
    outbound,
  };
};

/** Addresses that the operator named: private ones are open there. */
const configuredOrigins = (config: VendingConfig): readonly string[] =>
  [
    config.VENDING_AUTHORIZATION_SERVICE_URL,
    config.VENDING_API_IDP_AUTHORITY,
    config.VENDING_WEBHOOK_URL,
    config.VENDING_API_NOTIFY_URL,
    config.VENDING_TICKET_INSTANCE === '' ? undefined : `https://${config.VENDING_TICKET_INSTANCE}`,
  ].filter((url) => url !== undefined);

const tagNamesOf = (config: VendingConfig): TagNames => ({
  environment: config.VENDING_TAG_ENVIRONMENT,
  k8s: config.VENDING_TAG_K8S,
  budget: config.VENDING_TAG_BUDGET,
  owner: config.VENDING_TAG_OWNER,
  ticket: config.VENDING_TAG_TICKET,
});

const grantsOf = (config: VendingConfig) =>
  defaultGrants({
    platform: config.VENDING_PLATFORM_SPN_OBJECT_ID,
    ops: config.VENDING_OPS_GROUP_OBJECT_ID,
    security: config.VENDING_SECURITY_GROUP_OBJECT_ID,
    finops: config.VENDING_FINOPS_GROUP_OBJECT_ID,
  });

const ticketsOf = (config: VendingConfig, outbound: Outbound): Tickets | undefined =>
  config.VENDING_TICKET_INSTANCE === ''
    ? undefined
    : createTickets(outbound, {
        instance: config.VENDING_TICKET_INSTANCE,
        user: config.VENDING_TICKET_USER,
        password: config.VENDING_TICKET_PASSWORD ?? '',
        table: config.VENDING_TICKET_TABLE,
        timeoutMs: config.VENDING_TICKET_TIMEOUT * 1000,
        requireState: config.VENDING_TICKET_REQUIRE_STATE,
        successState: config.VENDING_TICKET_SUCCESS_STATE,
        failureState: config.VENDING_TICKET_FAILURE_STATE,
      });

const noticesOf = (config: VendingConfig, outbound: Outbound) => ({
  tellApi:
    config.VENDING_API_NOTIFY_URL === undefined
      ? undefined
      : createApiNotice(outbound, {
          url: config.VENDING_API_NOTIFY_URL,
          token: config.VENDING_API_NOTIFY_TOKEN,
          timeoutMs: config.VENDING_API_NOTIFY_TIMEOUT * 1000,
        }),
  tellWebhook:
    config.VENDING_WEBHOOK_URL === undefined
      ? undefined
      : createWebhookNotice(outbound, {
          url: config.VENDING_WEBHOOK_URL,
          secret: config.VENDING_WEBHOOK_SECRET,
          timeoutMs: config.VENDING_WEBHOOK_TIMEOUT * 1000,
        }),
});
