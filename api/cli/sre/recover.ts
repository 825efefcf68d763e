import { randomUUID } from 'node:crypto';
import proto from '@temporalio/proto';
import type { TemporalAccess } from './context.js';
import type { History, HistoryEvent } from './history.js';
import { eventId, eventTypeName, fetchHistory, startedEvent } from './history.js';

export type ResetTarget = 'first-workflow-task' | 'last-workflow-task' | { readonly event: number };

/** `first-workflow-task`, `last-workflow-task`, `event N`, `event:N` or `N`. Throws on anything else. */
export const parseResetTarget = (text: string): ResetTarget => {
  if (text === 'first-workflow-task' || text === 'last-workflow-task') return text;
  const event = /^(?:event[ :=])?(\d{1,9})$/.exec(text)?.[1];
  if (event === undefined)
    throw new Error(`--to takes first-workflow-task, last-workflow-task or event N, not '${text}'`);
  return { event: Number(event) };
};

const isCompletedTask = (event: HistoryEvent): boolean => Boolean(event.workflowTaskCompletedEventAttributes);
const isFinishedTask = (event: HistoryEvent): boolean =>
  isCompletedTask(event) ||
  Boolean(event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes);

/** Id of the event that a reset goes back to; everything after it is done again. */
export const resetPoint = (history: History, target: ResetTarget): number => {
  const completed = (history.events ?? []).filter(isCompletedTask);
  if (target === 'first-workflow-task' || target === 'last-workflow-task') {
    const event = target === 'first-workflow-task' ? completed[0] : completed.at(-1);
    if (event === undefined) throw new Error('the workflow has not completed a workflow task: use rerun');
    return eventId(event);
  }
  const finished = (history.events ?? []).filter(isFinishedTask).map(eventId);
  if (finished.includes(target.event)) return target.event;
  const other = history.events?.find((event) => eventId(event) === target.event);
  throw new Error(
    `event ${target.event} is ${other === undefined ? 'not in the history' : eventTypeName(other)}; ` +
      `a reset goes to a finished workflow task, here: ${finished.join(', ')}`,
  );
};

export interface NewRun {
  readonly workflowId: string;
  readonly runId: string;
}

/** Ends the run (when it is running) and begins a new one from the target on. */
export const resetWorkflow = async (
  { client, config }: TemporalAccess,
  workflowId: string,
  options: { readonly runId?: string; readonly target: ResetTarget; readonly reason: string },
): Promise<NewRun & { readonly eventId: number }> => {
  const history = await fetchHistory(client, workflowId, options.runId);
  const point = resetPoint(history, options.target);
  const { runId } = await client.workflowService.resetWorkflowExecution({
    namespace: config.TEMPORAL_NAMESPACE,
    workflowExecution: { workflowId, runId: options.runId ?? '' },
    reason: options.reason,
    workflowTaskFinishEventId: point as never,
    requestId: randomUUID(),
  });
  return { workflowId, runId, eventId: point };
};

const { WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE: allowDuplicate } =
  proto.temporal.api.enums.v1.WorkflowIdReusePolicy;
const { WORKFLOW_ID_CONFLICT_POLICY_FAIL: failWhenRunning } =
  proto.temporal.api.enums.v1.WorkflowIdConflictPolicy;

/** Starts the workflow again as it was started: type, input, queue, id, timeouts, search attributes, memo. */
export const rerunWorkflow = async (
  { client, config }: TemporalAccess,
  workflowId: string,
  options: { readonly runId?: string } = {},
): Promise<NewRun> => {
  const { status } = await client.workflow.getHandle(workflowId, options.runId).describe();
  if (status.name === 'RUNNING')
    throw new Error(`${workflowId} is running: reset it, or terminate it before a rerun`);
  const first = startedEvent(await fetchHistory(client, workflowId, options.runId));
  const { runId } = await client.workflowService.startWorkflowExecution({
    namespace: config.TEMPORAL_NAMESPACE,
    workflowId,
    workflowType: first.workflowType ?? null,
    taskQueue: { name: first.taskQueue?.name ?? '' },
    input: first.input ?? null,
    workflowExecutionTimeout: first.workflowExecutionTimeout ?? null,
    workflowRunTimeout: first.workflowRunTimeout ?? null,
    workflowTaskTimeout: first.workflowTaskTimeout ?? null,
    retryPolicy: first.retryPolicy ?? null,
    memo: first.memo ?? null,
    searchAttributes: first.searchAttributes ?? null,
    header: first.header ?? null,
    identity: 'keystead sre rerun',
    requestId: randomUUID(),
    workflowIdReusePolicy: allowDuplicate,
    workflowIdConflictPolicy: failWhenRunning,
  });
  return { workflowId, runId };
};
