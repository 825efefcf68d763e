import type { WorkflowExecutionInfo } from '@temporalio/client';
import type { google } from '@temporalio/proto';
import proto from '@temporalio/proto';
import type { TemporalAccess } from './context.js';
import { failureText, oneLine } from './failure-text.js';

const { HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT: closeEventOnly } =
  proto.temporal.api.enums.v1.HistoryEventFilterType;
const { PENDING_ACTIVITY_STATE_SCHEDULED: notTaken } = proto.temporal.api.enums.v1.PendingActivityState;

/** Why a workflow closed, from its last event. */
export const closeReason = async (
  { client, config }: TemporalAccess,
  { workflowId, runId }: WorkflowExecutionInfo,
): Promise<string> => {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: config.TEMPORAL_NAMESPACE,
    execution: { workflowId, runId },
    historyEventFilterType: closeEventOnly,
  });
  const event = history?.events?.at(-1);
  if (event?.workflowExecutionFailedEventAttributes)
    return failureText(event.workflowExecutionFailedEventAttributes.failure);
  if (event?.workflowExecutionTerminatedEventAttributes)
    return oneLine(event.workflowExecutionTerminatedEventAttributes.reason || 'terminated without a reason');
  return event?.workflowExecutionTimedOutEventAttributes ? 'timed out' : 'closed without a reason';
};

interface StuckRule {
  readonly attempts: number;
  readonly idleMs: number;
  readonly now: number;
}

/** Why a running workflow makes no progress; undefined when it does, or waits for a timer or a message. */
export const stuckReason = async (
  temporal: TemporalAccess,
  { workflowId, runId }: WorkflowExecutionInfo,
  rule: StuckRule,
): Promise<string | undefined> => {
  const { raw } = await temporal.client.workflow.getHandle(workflowId, runId).describe();
  const task = raw.pendingWorkflowTask;
  if (task && (task.attempt ?? 0) > rule.attempts) {
    return `workflow task attempt ${task.attempt ?? 0}: ${await lastTaskFailure(temporal, workflowId, runId)}`;
  }
  if (task && !task.startedTime && rule.now - milliseconds(task.scheduledTime) > rule.idleMs)
    return 'no worker takes its workflow task';
  for (const activity of raw.pendingActivities ?? []) {
    const name = activity.activityType?.name ?? 'activity';
    if ((activity.attempt ?? 0) > rule.attempts)
      return `${name} attempt ${activity.attempt ?? 0}: ${failureText(activity.lastFailure)}`;
    const idle = rule.now - milliseconds(activity.scheduledTime);
    if (activity.state === notTaken && (activity.attempt ?? 1) === 1 && idle > rule.idleMs)
      return `no worker takes its activity ${name}`;
  }
  return undefined;
};

const milliseconds = (time: google.protobuf.ITimestamp | null | undefined): number =>
  Number(time?.seconds ?? 0) * 1000;

const lastTaskFailure = async (
  { client, config }: TemporalAccess,
  workflowId: string,
  runId: string,
): Promise<string> => {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: config.TEMPORAL_NAMESPACE,
    execution: { workflowId, runId },
    maximumPageSize: 20,
  });
  const failed = history?.events?.find((event) => event.workflowTaskFailedEventAttributes);
  return failed ? failureText(failed.workflowTaskFailedEventAttributes?.failure) : 'its tasks time out';
};
