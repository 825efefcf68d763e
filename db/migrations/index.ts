import type { Migration } from '../migration.js';
import * as machines from './001-machines.js';
import * as auditLog from './002-audit-log.js';
import * as auditAppend from './003-audit-append.js';
import * as outbox from './004-outbox.js';
import * as configTokens from './005-config-tokens.js';
import * as approvalRequests from './006-approval-requests.js';
import * as nonces from './007-nonces.js';
import * as ekFingerprintSha384 from './008-ek-fingerprint-sha384.js';
import * as nonceFunctions from './020-nonce-functions.js';
import * as machineSecrets from './050-machine-secrets.js';
import * as sharedSecrets from './051-shared-secrets.js';
import * as secretAccessLog from './052-secret-access-log.js';
import * as webhooks from './053-webhooks.js';
import * as webhookDeliveries from './054-webhook-deliveries.js';
import * as metricTotals from './055-metric-totals.js';
import * as publishWebhookEvent from './056-publish-webhook-event.js';
import * as attestationKeys from './080-attestation-keys.js';
import * as pcrPolicies from './081-pcr-policies.js';
import * as certificates from './082-certificates.js';
import * as oneMachinePerKey from './083-one-machine-per-key.js';
import * as iacStacks from './100-iac-stacks.js';
import * as iacUpdates from './101-iac-updates.js';
import * as iacFreeJson from './102-iac-free-json.js';
import * as iacDeployments from './150-iac-deployments.js';
import * as iacDeploymentSettings from './151-iac-deployment-settings.js';
import * as vendingRuns from './200-vending-runs.js';
import * as vendingInbox from './201-vending-inbox.js';
import * as vendingDeadLetters from './202-vending-dead-letters.js';

/**
 * Every change of the schema in order. The broker core has 001 to 049, vault and webhooks 050 to 079,
 * attestation and PKI 080 to 099, the IaC backend 100 to 199, vending 200 to 299.
 */
export const migrations: readonly Migration[] = [
  { name: '001-machines', up: machines.up },
  { name: '002-audit-log', up: auditLog.up },
  { name: '003-audit-append', up: auditAppend.up },
  { name: '004-outbox', up: outbox.up },
  { name: '005-config-tokens', up: configTokens.up },
  { name: '006-approval-requests', up: approvalRequests.up },
  { name: '007-nonces', up: nonces.up },
  { name: '008-ek-fingerprint-sha384', up: ekFingerprintSha384.up },
  { name: '020-nonce-functions', up: nonceFunctions.up },
  { name: '050-machine-secrets', up: machineSecrets.up },
  { name: '051-shared-secrets', up: sharedSecrets.up },
  { name: '052-secret-access-log', up: secretAccessLog.up },
  { name: '053-webhooks', up: webhooks.up },
  { name: '054-webhook-deliveries', up: webhookDeliveries.up },
  { name: '055-metric-totals', up: metricTotals.up },
  { name: '056-publish-webhook-event', up: publishWebhookEvent.up },
  { name: '080-attestation-keys', up: attestationKeys.up },
  { name: '081-pcr-policies', up: pcrPolicies.up },
  { name: '082-certificates', up: certificates.up },
  { name: '083-one-machine-per-key', up: oneMachinePerKey.up },
  { name: '100-iac-stacks', up: iacStacks.up },
  { name: '101-iac-updates', up: iacUpdates.up },
  { name: '102-iac-free-json', up: iacFreeJson.up },
  { name: '150-iac-deployments', up: iacDeployments.up },
  { name: '151-iac-deployment-settings', up: iacDeploymentSettings.up },
  { name: '200-vending-runs', up: vendingRuns.up },
  { name: '201-vending-inbox', up: vendingInbox.up },
  { name: '202-vending-dead-letters', up: vendingDeadLetters.up },
];
