import type { Clock } from '../../domain/clock.js';
import { resultOf } from '../../domain/vending/run.js';
import { optionalSteps } from '../../domain/vending/steps.js';
import type { TellOutcome } from '../adapters/outcome-notices.js';
import type { Tickets } from '../adapters/ticket.js';
import { skipped } from './built-in-steps.js';
import type { RegisteredStep } from './step.js';

export interface NotificationDeps {
  readonly clock: Clock;
  readonly tickets: Tickets | undefined;
  readonly tellApi: TellOutcome | undefined;
  readonly tellWebhook: TellOutcome | undefined;
}

/** The steps that settings switch on: notification API, ticket feedback, webhook; in this order. */
export const createNotificationSteps = (deps: NotificationDeps): readonly RegisteredStep[] => [
  ...tellStep(deps.clock, deps.tellApi, optionalSteps.apiNotify),
  ...feedbackStep(deps.tickets),
  ...tellStep(deps.clock, deps.tellWebhook, optionalSteps.webhookNotify),
];

const tellStep = (
  clock: Clock,
  tell: TellOutcome | undefined,
  definition: RegisteredStep['definition'],
): readonly RegisteredStep[] =>
  tell === undefined
    ? []
    : [
        {
          definition,
          perform: async ({ run, errors }) => {
            await tell(run.id, clock.now(), resultOf(run, errors));
            return { status: 'done', summary: 'told the outcome' };
          },
        },
      ];

const feedbackStep = (tickets: Tickets | undefined): readonly RegisteredStep[] =>
  tickets === undefined
    ? []
    : [
        {
          definition: optionalSteps.ticketFeedback,
          perform: async ({ run, plan, errors }) => {
            if (plan.ticket === '') return skipped('no ticket');
            await tickets.report(plan.ticket, resultOf(run, errors));
            return { status: 'done', summary: `wrote the outcome to ticket ${plan.ticket}` };
          },
        },
      ];
