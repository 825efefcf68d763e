import type { temporal as types } from '@temporalio/proto';
import proto from '@temporalio/proto';
import { queues } from '../../../../workflows/queues.js';
import { missingSearchAttributes } from '../../../temporal/search-attributes.js';
import type { SreDeps, TemporalAccess } from '../context.js';
import { openTemporal, temporalConfig } from '../context.js';
import type { Finding } from './finding.js';
import { fail, messageOf, ok, warn } from './finding.js';

const { TASK_QUEUE_TYPE_WORKFLOW: workflowTasks, TASK_QUEUE_TYPE_ACTIVITY: activityTasks } =
  proto.temporal.api.enums.v1.TaskQueueType;

/** A poller asks again within a minute; the server forgets it after five. */
const MAX_AHEAD_MS = 2_000;
const MAX_SILENCE_MS = 120_000;

/** Server, namespace, search attributes, pollers of every queue, and the clock as the pollers' marks show it. */
export const checkTemporal = async (deps: SreDeps): Promise<readonly Finding[]> => {
  let temporal: TemporalAccess;
  try {
    temporal = await openTemporal(temporalConfig(deps));
  } catch (error) {
    return [fail('temporal', messageOf(error), 'start it, or set TEMPORAL_ADDRESS and the TLS settings')];
  }
  try {
    const namespace = await checkNamespace(temporal);
    if (namespace.some(({ level }) => level === 'fail')) return namespace;
    return [...namespace, await checkSearchAttributes(temporal), ...(await checkPollers(temporal, deps.now))];
  } finally {
    await temporal.connection.close();
  }
};

const checkNamespace = async ({ connection, config }: TemporalAccess): Promise<readonly Finding[]> => {
  const { serverVersion } = await connection.workflowService.getSystemInfo({});
  const reached = ok('temporal', `server ${serverVersion} at ${config.TEMPORAL_ADDRESS}`);
  const namespace = config.TEMPORAL_NAMESPACE;
  try {
    const { config: settings } = await connection.workflowService.describeNamespace({ namespace });
    const days = Number(settings?.workflowExecutionRetentionTtl?.seconds ?? 0) / 86_400;
    return [
      reached,
      ok('namespace', `${namespace}, closed workflows kept ${Math.round(days * 10) / 10} days`),
    ];
  } catch (error) {
    const todo = `temporal operator namespace create -n ${namespace}, or set TEMPORAL_NAMESPACE`;
    return [reached, fail('namespace', `${namespace}: ${messageOf(error)}`, todo)];
  }
};

const checkSearchAttributes = async ({ connection, config }: TemporalAccess): Promise<Finding> => {
  try {
    const missing = await missingSearchAttributes(connection, config.TEMPORAL_NAMESPACE);
    if (missing.length === 0) return ok('search attributes', 'all registered');
    const todo = 'start a worker (it registers them), or see docs/operations/temporal.md';
    return fail('search attributes', `missing: ${missing.join(', ')}`, todo);
  } catch (error) {
    const todo = 'no operator rights? compare with docs/operations/temporal.md by hand';
    return warn('search attributes', messageOf(error), todo);
  }
};

/** Last time that a poller of the queue was seen, in ms since the epoch; none when nobody polls. */
const lastSeen = async (
  { connection, config }: TemporalAccess,
  queue: string,
  taskQueueType: types.api.enums.v1.TaskQueueType,
): Promise<readonly number[]> => {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace: config.TEMPORAL_NAMESPACE,
    taskQueue: { name: queue },
    taskQueueType,
  });
  return pollers.map(
    ({ lastAccessTime: seen }) => Number(seen?.seconds ?? 0) * 1000 + (seen?.nanos ?? 0) / 1e6,
  );
};

const checkPollers = async (temporal: TemporalAccess, now: () => number): Promise<readonly Finding[]> => {
  const findings: Finding[] = [];
  const seen: number[] = [];
  for (const queue of Object.values(queues)) {
    const workflowPollers = await lastSeen(temporal, queue, workflowTasks);
    const activityPollers = await lastSeen(temporal, queue, activityTasks);
    seen.push(...workflowPollers, ...activityPollers);
    const detail = `${workflowPollers.length} workflow, ${activityPollers.length} activity pollers`;
    findings.push(
      workflowPollers.length + activityPollers.length > 0
        ? ok(`queue ${queue}`, detail)
        : warn(
            `queue ${queue}`,
            detail,
            'its work waits: start a worker (fine when this part is not in use)',
          ),
    );
  }
  return [...findings, checkClock(seen, now())];
};

/** Temporal tells no time; its marks of pollers lie between two minutes ago and now, or a clock is off. */
const checkClock = (seen: readonly number[], now: number): Finding => {
  if (seen.length === 0)
    return warn('temporal clock', 'unknown without a poller', 'start a worker and run doctor again');
  const newest = Math.round(Math.max(...seen) - now);
  const detail = `newest poller mark ${newest} ms from now`;
  return newest <= MAX_AHEAD_MS && newest >= -MAX_SILENCE_MS
    ? ok('temporal clock', detail)
    : warn('temporal clock', detail, 'synchronise the clocks (NTP), or the last worker has just gone');
};
