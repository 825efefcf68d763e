import { ActivityCancellationType } from '@temporalio/workflow';
import type { ActivityOptions, LocalActivityOptions } from '@temporalio/workflow';

/** One short database transaction: cheap as a local activity, and retried until the database is back. */
export const databaseStep = {
  startToCloseTimeout: '10 seconds',
  scheduleToCloseTimeout: '1 day',
  localRetryThreshold: '30 seconds',
  retry: { initialInterval: '200 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' },
} satisfies LocalActivityOptions;

/** A voter waits for it: tried for as long as an HTTP client waits, then told that the database is away. */
export const castVoteStep = {
  startToCloseTimeout: '5 seconds',
  scheduleToCloseTimeout: '15 seconds',
  retry: { initialInterval: '100 milliseconds', maximumInterval: '1 second' },
} satisfies LocalActivityOptions;

/** One call to an outside service that may be away for hours; the far end is idempotent. */
export const outsideCall = {
  startToCloseTimeout: '45 seconds',
  retry: { initialInterval: '2 seconds', backoffCoefficient: 2, maximumInterval: '10 minutes' },
} satisfies ActivityOptions;

/** A worker that died is noticed after this long, not after the whole time limit of a call. */
const HEARTBEAT = '10 seconds';

/** A fresh subscription refuses writes for minutes after its creation, so this one is patient. */
export const cloudWrite = {
  startToCloseTimeout: '2 minutes',
  scheduleToCloseTimeout: '30 minutes',
  heartbeatTimeout: HEARTBEAT,
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
} satisfies ActivityOptions;

/** One call to a service of our own. */
export const serviceCall = {
  ...cloudWrite,
  scheduleToCloseTimeout: '10 minutes',
} satisfies ActivityOptions;

/** The ticket system decides about the run; without a verdict in this time the run fails. */
export const gateCheck = { ...serviceCall, scheduleToCloseTimeout: '5 minutes' } satisfies ActivityOptions;

/** Told as well as can be; the verdict of the run waits for it, so not for long. */
export const notification = { ...serviceCall, scheduleToCloseTimeout: '3 minutes' } satisfies ActivityOptions;

/** Folds a journal into a state: seconds for a large one; one transaction, so it may be repeated until it works. */
export const stateFold = {
  startToCloseTimeout: '10 minutes',
  retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
} satisfies ActivityOptions;
/**
 * One webhook request (10 s) between two short database steps. Local: a delivery that succeeds at once costs one
 * workflow task. Retried for as long as the database is away; the attempt itself never sends twice.
 */
export const deliveryAttempt = {
  startToCloseTimeout: '40 seconds',
  localRetryThreshold: '30 seconds',
  retry: { initialInterval: '500 milliseconds', backoffCoefficient: 2, maximumInterval: '10 seconds' },
} satisfies LocalActivityOptions;

/**
 * The IaC CLI is not idempotent, so its run is never repeated; half a minute without a heartbeat means that the worker
 * died. The run's own time limit is shorter than this one.
 */
export const cliRun = {
  startToCloseTimeout: '8 days',
  heartbeatTimeout: '30 seconds',
  retry: { maximumAttempts: 1 },
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} satisfies ActivityOptions;

/**
 * Ends what a dead CLI left open and folds its journal, which may take seconds. Local, so that it never waits behind the runs
 * that fill the worker; retried until the database is back.
 */
export const deploymentEnd = {
  ...databaseStep,
  startToCloseTimeout: '2 minutes',
} satisfies LocalActivityOptions;
