import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import type { Queue } from '../workflows/queues.js';
import { failureInterceptor } from './failure-interceptor.js';

const SHUTDOWN_GRACE = '8 seconds';

export interface QueueWorker {
  readonly queue: Queue;
  readonly activities: object;
  /** Bundle of the queue's workflows, built ahead; `undefined` for a queue that only runs activities. */
  readonly workflowBundle?: WorkerOptions['workflowBundle'];
  readonly options?: Partial<WorkerOptions>;
}

/** The bundle that `npm run build` made for a queue; a worker never bundles at start. */
export const builtBundle = (name: string): { codePath: string } => {
  const codePath = fileURLToPath(new URL(`../bundles/${name}.js`, import.meta.url));
  if (!existsSync(codePath)) throw new Error(`workflow bundle ${codePath} is missing: run npm run build`);
  return { codePath };
};

export interface RunningWorkers {
  /** Drains: running tasks finish within the grace time. */
  readonly shutdown: () => Promise<void>;
  /** Settles when every worker has stopped; rejects when one failed. */
  readonly stopped: Promise<void>;
}

/** Starts one Temporal worker a queue over a shared connection. */
export const runWorkers = async (
  connection: NativeConnection,
  namespace: string,
  maxCachedWorkflows: number,
  queues: readonly QueueWorker[],
): Promise<RunningWorkers> => {
  const workers = await Promise.all(
    queues.map(({ queue, activities, workflowBundle, options }) =>
      Worker.create({
        connection,
        namespace,
        taskQueue: queue,
        activities,
        ...(workflowBundle === undefined ? {} : { workflowBundle }),
        maxCachedWorkflows,
        shutdownGraceTime: SHUTDOWN_GRACE,
        interceptors: { activity: [failureInterceptor] },
        ...options,
      }),
    ),
  );
  const stopped = Promise.all(workers.map((worker) => worker.run())).then(() => undefined);
  return {
    stopped,
    shutdown: async () => {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await stopped.catch(() => undefined);
    },
  };
};
