import {
  claimDeployment,
  endDeployment,
  findDeployment,
  listLinkedUpdates,
  releaseDeployment,
} from '../../../db/iac/deployments.js';
import { lockStack } from '../../../db/iac/stacks.js';
import { findUpdate } from '../../../db/iac/updates.js';
import { addToOutbox } from '../../../db/outbox.js';
import type { Deployment } from '../../../domain/iac/deployments/deployment.js';
import { showStackName } from '../../../domain/iac/names.js';
import { isFinal } from '../../../domain/iac/update.js';
import { publishWebhookEvent } from '../../broker/publish-event.js';
import type { IacDeps } from '../deps.js';
import { createUpdateCommands } from '../updates.js';
import { DEPLOYMENT_TURN_TOPIC } from './commands.js';
import type { RunOutcome } from './run.js';

export type Claim = 'run' | 'wait' | 'over';

/** The steps of a deployment before and after its run. Each may be repeated. */
export const createDeploymentSteps = (deps: IacDeps) => {
  const { db, clock } = deps;
  const { cancel } = createUpdateCommands(deps);

  /** `run` when it is the first of its stack's queue; said again to a workflow that did not hear it. */
  const claim = async ({ deploymentId }: { readonly deploymentId: string }): Promise<Claim> => {
    if (await claimDeployment(db, deploymentId, clock.now())) return 'run';
    const deployment = await findDeployment(db, deploymentId);
    if (deployment?.status === 'queued') return 'wait';
    return deployment?.status === 'running' ? 'run' : 'over';
  };

  /** A CLI that was killed leaves its update open: it is ended, its journal folded, the stack free. */
  const endOpenUpdates = async (deploymentId: string): Promise<void> => {
    for (const updateId of await listLinkedUpdates(db, deploymentId)) {
      const update = await findUpdate(db, updateId);
      if (update === undefined) continue;
      const { org, project, stack, status } = update;
      if (!isFinal(status)) await cancel({ org, project, stack }, updateId);
    }
  };

  const finish = async ({
    deploymentId,
    exitCode,
    reason,
  }: RunOutcome & { readonly deploymentId: string }): Promise<void> => {
    await endOpenUpdates(deploymentId);
    await db.transaction(async (trx) => {
      const status = exitCode === 0 && reason === null ? 'succeeded' : 'failed';
      const now = clock.now();
      const ended = await endDeployment(trx, deploymentId, { status, reason, exitCode }, now);
      const next = await releaseDeployment(trx, deploymentId, exitCode, now);
      if (next !== undefined)
        await addToOutbox(trx, [{ topic: DEPLOYMENT_TURN_TOPIC, key: next, payload: {} }]);
      const deployment = ended ? await findDeployment(trx, deploymentId) : undefined;
      if (deployment !== undefined) await announce(trx, deployment, now);
    });
  };

  const announce = async (trx: Parameters<typeof findDeployment>[0], deployment: Deployment, now: Date) => {
    const { id, stackId, number, operation, status, exitCode, reason, requestedBy } = deployment;
    const found = await lockStack(trx, stackId);
    const stack = found === undefined ? null : showStackName(found);
    const data = {
      deployment_id: id,
      stack,
      version: number,
      operation,
      exit_code: exitCode,
      reason,
      requested_by: requestedBy,
    };
    const eventType = status === 'succeeded' ? 'deployment.succeeded' : 'deployment.failed';
    await publishWebhookEvent(trx, { eventType, machineId: null, data }, { now, eventId: id });
  };

  return { claimDeployment: claim, finishDeployment: finish };
};
