import { defineSignal } from '@temporalio/workflow';

/** The row says cancelled already: stop the CLI. */
export const cancelDeployment = defineSignal('cancelDeployment');
/** The one before has ended; look whether it is this one's turn. */
export const deploymentTurn = defineSignal('deploymentTurn');
