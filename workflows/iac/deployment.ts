import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { DeploymentActivities } from '../../activities/iac/index.js';
import { cliRun, databaseStep, deploymentEnd } from '../options.js';
import { cancelDeployment, deploymentTurn } from './messages.js';

const { runDeployment } = proxyActivities<DeploymentActivities>(cliRun);
const { finishDeployment } = proxyLocalActivities<DeploymentActivities>(deploymentEnd);
const { claimDeployment } = proxyLocalActivities<DeploymentActivities>(databaseStep);

/** A turn that nobody told of is found by itself. */
const LOOK_EVERY = '1 minute';

/**
 * One deployment: waits for its turn in the queue of its stack, runs the CLI once, and writes the final record whatever
 * happened. A cancellation is in the row before it comes here.
 */
export const deployment = async ({ deploymentId }: { readonly deploymentId: string }): Promise<void> => {
  const scope = new CancellationScope();
  let isCancelled = false;
  let mayBeTurn = false;
  setHandler(cancelDeployment, () => {
    isCancelled = true;
    scope.cancel();
  });
  setHandler(deploymentTurn, () => {
    mayBeTurn = true;
  });

  const outcome = await waitForTurn()
    .then((isTurn) => (isTurn ? scope.run(() => runDeployment({ deploymentId })) : neverRan))
    .catch((error: unknown) => ({ exitCode: null, reason: reasonOf(error) }));
  await CancellationScope.nonCancellable(() => finishDeployment({ deploymentId, ...outcome }));

  async function waitForTurn(): Promise<boolean> {
    for (;;) {
      mayBeTurn = false;
      const claim = await claimDeployment({ deploymentId });
      if (claim !== 'wait') return claim === 'run' && !isCancelled;
      await condition(() => mayBeTurn || isCancelled, LOOK_EVERY);
    }
  }
};

const neverRan = { exitCode: null, reason: 'cancelled before it ran' };

const reasonOf = (error: unknown): string => {
  if (isCancellation(error)) return 'cancelled';
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return 'the worker that ran it died; it is not run again';
  if (cause instanceof ApplicationFailure) return `the run could not be carried out: ${cause.message}`;
  return 'the run could not be carried out';
};
