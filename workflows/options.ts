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
