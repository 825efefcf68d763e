import { Context } from '@temporalio/activity';
import type { DeploymentActivities } from '../../../activities/iac/index.js';
import { AppError } from '../../../domain/errors.js';
import type { deployment } from '../../../workflows/iac/index.js';
import { cancelDeployment, deploymentTurn } from '../../../workflows/iac/messages.js';
import { queues } from '../../../workflows/queues.js';
import { eventually } from '../../support/eventually.js';
import type { Scenario } from './scenario.js';

const DEPLOYMENT = '0d5c9e0e-7f3a-4b8a-9a55-3b7f4ad2c111';
type Claim = Awaited<ReturnType<DeploymentActivities['claimDeployment']>>;

interface Shape {
  readonly name: string;
  readonly claims: readonly Claim[];
  readonly run?: DeploymentActivities['runDeployment'];
  /** Sent once the first claim, or the run, has begun. */
  readonly signal?: typeof cancelDeployment | typeof deploymentTurn;
}

const ran = () => Promise.resolve({ exitCode: 0, reason: null });
const untilCancelled: DeploymentActivities['runDeployment'] = async () => {
  const beat = setInterval(() => Context.current().heartbeat(), 100);
  await Context.current().cancelled.catch(() => undefined);
  clearInterval(beat);
  return { exitCode: null, reason: 'the run was stopped: CANCELLED' };
};

const scenario = ({ name, claims, run = ran, signal }: Shape): Scenario => {
  let claimed = 0;
  let started = false;
  const activities: DeploymentActivities = {
    claimDeployment: () => Promise.resolve(claims[claimed++] ?? 'over'),
    runDeployment: (input) => {
      started = true;
      return run(input);
    },
    finishDeployment: () => Promise.resolve(),
  };
  return {
    name: `deployment.${name}`,
    queue: queues.deployments,
    activities,
    play: async (client) => {
      const handle = await client.workflow.start<typeof deployment>('deployment', {
        workflowId: `deployment:${DEPLOYMENT}`,
        taskQueue: queues.deployments,
        args: [{ deploymentId: DEPLOYMENT }],
      });
      if (signal !== undefined) {
        await eventually(() => started || (claims[0] === 'wait' && claimed > 0));
        await handle.signal(signal);
      }
      await handle.result();
      return handle.workflowId;
    },
  };
};

export const deploymentScenarios: readonly Scenario[] = [
  scenario({ name: 'ran', claims: ['run'] }),
  scenario({ name: 'queued', claims: ['wait', 'run'], signal: deploymentTurn }),
  scenario({ name: 'cancelled-in-queue', claims: ['wait', 'over'], signal: cancelDeployment }),
  scenario({ name: 'cancelled-running', claims: ['run'], run: untilCancelled, signal: cancelDeployment }),
  scenario({
    name: 'not-runnable',
    claims: ['run'],
    run: () => Promise.reject(new AppError('unavailable', 'sealed value cannot be opened')),
  }),
];
