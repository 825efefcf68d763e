import type { WorkflowExecutionInfo } from '@temporalio/client';
import { workflowLink } from '../../temporal/ui-link.js';
import type { TemporalAccess } from './context.js';
import { closeReason, stuckReason } from './reasons.js';

export interface FailedQuery {
  /** Closed ones: how far back, in milliseconds. */
  readonly sinceMs: number;
  readonly type?: string;
  /** A running workflow whose task or activity was tried more often than this is stuck. */
  readonly attempts: number;
  /** So is one whose task or activity no worker has taken for so long. */
  readonly idleMs: number;
  /** Of each kind, closed and running. */
  readonly limit: number;
  readonly now: number;
}

export interface FailedWorkflow {
  readonly status: 'failed' | 'timed_out' | 'terminated' | 'stuck';
  readonly type: string;
  readonly workflowId: string;
  readonly runId: string;
  readonly queue: string;
  readonly startedAt: string;
  readonly closedAt: string | null;
  readonly reason: string;
  readonly link: string;
}

export interface FailedReport {
  readonly workflows: readonly FailedWorkflow[];
  /** True when there are more than `limit` of a kind. */
  readonly truncated: boolean;
}

const statuses: Readonly<Record<string, FailedWorkflow['status']>> = {
  FAILED: 'failed',
  TIMED_OUT: 'timed_out',
  TERMINATED: 'terminated',
};

/** Failed, timed-out and terminated workflows of the period, and running ones that make no progress. */
export const findFailed = async (temporal: TemporalAccess, query: FailedQuery): Promise<FailedReport> => {
  const since = new Date(query.now - query.sinceMs).toISOString();
  const ofType = query.type === undefined ? '' : ` AND WorkflowType = '${query.type.replaceAll("'", "''")}'`;
  const closed = await listUpTo(
    temporal,
    `ExecutionStatus IN ('Failed', 'TimedOut', 'Terminated') AND CloseTime > '${since}'${ofType}`,
    query.limit,
  );
  const running = await listUpTo(temporal, `ExecutionStatus = 'Running'${ofType}`, query.limit);
  const workflows: FailedWorkflow[] = [];
  for (const info of closed.found) {
    const status = statuses[info.status.name];
    if (status !== undefined)
      workflows.push(describe(temporal, info, status, await closeReason(temporal, info)));
  }
  for (const info of running.found) {
    const reason = await stuckReason(temporal, info, query);
    if (reason !== undefined) workflows.push(describe(temporal, info, 'stuck', reason));
  }
  workflows.sort((a, b) => a.type.localeCompare(b.type) || a.reason.localeCompare(b.reason));
  return { workflows, truncated: closed.truncated || running.truncated };
};

const listUpTo = async (
  { client }: TemporalAccess,
  query: string,
  limit: number,
): Promise<{ found: WorkflowExecutionInfo[]; truncated: boolean }> => {
  const found: WorkflowExecutionInfo[] = [];
  for await (const info of client.workflow.list({ query, pageSize: Math.min(limit + 1, 1000) })) {
    if (found.length === limit) return { found, truncated: true };
    found.push(info);
  }
  return { found, truncated: false };
};

const describe = (
  temporal: TemporalAccess,
  info: WorkflowExecutionInfo,
  status: FailedWorkflow['status'],
  reason: string,
): FailedWorkflow => ({
  status,
  type: info.type,
  workflowId: info.workflowId,
  runId: info.runId,
  queue: info.taskQueue,
  startedAt: info.startTime.toISOString(),
  closedAt: info.closeTime?.toISOString() ?? null,
  reason,
  link: workflowLink(temporal.config, info.workflowId, info.runId),
});
