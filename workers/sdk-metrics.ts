import type { RuntimeOptions } from '@temporalio/worker';

/** Serves the Temporal SDK's metrics (slots, schedule-to-start, sticky cache) to Prometheus when an address is set. */
export const sdkMetrics = (address: string | undefined): Pick<RuntimeOptions, 'telemetryOptions'> =>
  address === undefined || address === ''
    ? {}
    : { telemetryOptions: { metrics: { prometheus: { bindAddress: address } } } };
