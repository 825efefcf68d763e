import { createBodies } from './bodies.js';
import { createCheckpointCommands } from './checkpoints.js';
import { createDeploymentCommands } from './deployments/commands.js';
import { createDeploymentSettings } from './deployments/settings.js';
import { createDeploymentSteps } from './deployments/finish.js';
import { createRunDeployment } from './deployments/run.js';
import type { RunnerDeps } from './deployments/run.js';
import type { IacDeps } from './deps.js';
import { createExportCommands } from './exports.js';
import { createHistoryQueries } from './history.js';
import { createJournalCommands } from './journal.js';
import { createSecretCommands } from './secrets.js';
import { createStackCommands } from './stacks.js';
import { createStateChanges } from './state-changes.js';
import { createUpdateCommands } from './updates.js';

/** Every use case of the state backend, for the gateway. */
export const createIacUseCases = (deps: IacDeps) => ({
  bodies: createBodies(deps.maxStateBytes),
  stacks: createStackCommands(deps),
  updates: createUpdateCommands(deps),
  journal: createJournalCommands(deps),
  checkpoints: createCheckpointCommands(deps),
  exports: createExportCommands(deps),
  changes: createStateChanges(deps),
  history: createHistoryQueries(deps),
  secrets: createSecretCommands(deps),
  deployments: createDeploymentCommands(deps),
  deploymentSettings: createDeploymentSettings(deps),
});
export type IacUseCases = ReturnType<typeof createIacUseCases>;

/** Activities of the `iac` task queue. */
export const createIacActivities = (deps: IacDeps) => {
  const { endLapsed } = createUpdateCommands(deps);
  const { purge } = createStackCommands(deps);
  return { endLapsedUpdate: endLapsed, purgeDeletedStack: purge };
};
export type IacActivities = ReturnType<typeof createIacActivities>;

/** Activities of the `deployments` task queue. */
export const createDeploymentActivities = (deps: RunnerDeps) => ({
  ...createDeploymentSteps(deps),
  runDeployment: createRunDeployment(deps),
});
export type DeploymentActivities = ReturnType<typeof createDeploymentActivities>;
