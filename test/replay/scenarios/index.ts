import { approvalScenarios } from './approval-window.js';
import { deploymentScenarios } from './deployment.js';
import { iacScenarios } from './iac.js';
import { imageScenarios } from './build-image.js';
import type { Scenario } from './scenario.js';
import { vendingScenarios } from './vending.js';
import { webhookScenarios } from './webhooks.js';
import { rewrapScenarios } from './rewrap-secrets.js';
import { wipeScenarios } from './revoke-and-wipe.js';

/** Every shape that is kept. Add yours here, then `npm run -s record-histories`. */
export const scenarios: readonly Scenario[] = [
  ...approvalScenarios,
  ...wipeScenarios,
  ...imageScenarios,
  ...iacScenarios,
  ...webhookScenarios,
  ...vendingScenarios,
  ...deploymentScenarios,
  ...rewrapScenarios,
];
