import type { Client } from '@temporalio/client';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import type { temporal } from '@temporalio/proto';
import proto from '@temporalio/proto';

export type History = temporal.api.history.v1.IHistory;
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** `EVENT_TYPE_TIMER_STARTED` -> `TIMER_STARTED`. */
export const eventTypeName = (event: HistoryEvent): string =>
  (proto.temporal.api.enums.v1.EventType[event.eventType ?? 0] ?? 'UNKNOWN').replace('EVENT_TYPE_', '');

export const eventId = (event: HistoryEvent): number => Number(event.eventId ?? 0);

export const fetchHistory = (client: Client, workflowId: string, runId?: string): Promise<History> =>
  client.workflow.getHandle(workflowId, runId).fetchHistory();

/** The JSON that the Temporal UI and `temporal workflow show -o json` give, and take. */
export const historyText = (history: History): string =>
  `${JSON.stringify(JSON.parse(historyToJSON(history)), undefined, 2)}\n`;

export const parseHistory = (text: string): History => historyFromJSON(JSON.parse(text));

/** Attributes of the first event: type, queue and input of the workflow. Throws when it is not a whole history. */
export const startedEvent = (
  history: History,
): temporal.api.history.v1.IWorkflowExecutionStartedEventAttributes => {
  const attributes = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  if (attributes === undefined || attributes === null)
    throw new Error('not a whole history: its first event is not WORKFLOW_EXECUTION_STARTED');
  return attributes;
};
