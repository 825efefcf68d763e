import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import { bundleOfQueue } from '../../../workflows/queues.js';
import type { History } from './history.js';
import { eventId, eventTypeName, startedEvent } from './history.js';

export interface ReplayVerdict {
  readonly deterministic: boolean;
  readonly workflowType: string;
  readonly events: number;
  /** What the replay found, and the event where history and code part. */
  readonly message?: string;
  readonly divergedAt?: { readonly eventId: number; readonly eventType: string };
}

/** Without it the core writes a page of warnings for one mismatch. A runtime that is there already is left alone. */
const quiet = (): void => {
  if (Runtime._instance !== undefined) return;
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' }, forward: {} } },
    shutdownSignals: [],
  });
};

const EVENT_REFERENCE = /\bid: (\d+)/;

/** Runs the history against the workflow code of the bundle, without a server and without any activity. */
export const replayHistory = async (
  history: History,
  workflowId: string,
  workflowBundle: NonNullable<WorkerOptions['workflowBundle']>,
): Promise<ReplayVerdict> => {
  quiet();
  const workflowType = startedEvent(history).workflowType?.name ?? 'unknown';
  const events = history.events ?? [];
  const summary = { workflowType, events: events.length };
  for await (const { error } of Worker.runReplayHistories({ workflowBundle }, [{ workflowId, history }])) {
    if (error === undefined) return { deterministic: true, ...summary };
    const id = Number(EVENT_REFERENCE.exec(error.message)?.[1] ?? Number.NaN);
    const event = events.find((candidate) => eventId(candidate) === id);
    return {
      deterministic: false,
      ...summary,
      message: error.message,
      ...(event === undefined ? {} : { divergedAt: { eventId: id, eventType: eventTypeName(event) } }),
    };
  }
  throw new Error('the replay gave no result');
};

/** Name of the bundle whose code the history belongs to, by its task queue. */
export const bundleOfHistory = (history: History): string => {
  const queue = startedEvent(history).taskQueue?.name ?? '';
  const name = bundleOfQueue(queue);
  if (name === undefined) throw new Error(`no workflow bundle for task queue '${queue}'`);
  return name;
};
