import type { DryRunUseCase } from '../../activities/vending/dry-run.js';
import type { Jobs } from '../../activities/vending/jobs.js';
import type { ProcessJob } from '../../activities/vending/process-job.js';
import type { Provision, RunQueries } from '../../activities/vending/provision.js';
import type { ReceiveEvents } from '../../activities/vending/receive-events.js';
import type { LinkTo } from './presenters/runs.js';

/** What the routes of the vending gateway do; filled by the composition root. */
export interface VendingUseCases {
  readonly receiveEvents: ReceiveEvents;
  readonly preflight: DryRunUseCase;
  /** Plans without a call to anybody. */
  readonly offlinePlan: DryRunUseCase;
  readonly provision: Provision;
  readonly processJob: ProcessJob;
  readonly jobs: Jobs;
  readonly runs: RunQueries;
  readonly linkTo: LinkTo;
}
