import { AppError } from '../../domain/errors.js';
import { planRun } from '../../domain/vending/plan.js';
import type { DryRun, GateOutcome, PlanRules } from '../../domain/vending/plan.js';
import type { ProvisioningRequest } from '../../domain/vending/subscription.js';
import { noTags, readTags } from '../../domain/vending/tags.js';
import type { TagNames, TagValues } from '../../domain/vending/tags.js';
import type { ReadSubscription } from '../adapters/azure/subscriptions.js';
import { passGates } from './gates.js';
import type { Gate } from './gates.js';

const READ_TIMEOUT_MS = 5_000;

export interface DryRunDeps {
  readonly rules: PlanRules;
  readonly tagNames: TagNames;
  readonly gates: readonly Gate[];
  readonly readSubscription: ReadSubscription;
}

/** Plans a run and asks the gates, changing nothing. Tags that cannot be read are said, not taken for absent. */
export const createDryRun =
  ({ rules, tagNames, gates, readSubscription }: DryRunDeps) =>
  async (request: ProvisioningRequest, ticketOverride: string): Promise<DryRun> => {
    const doubts: string[] = [];
    let tags: TagValues = noTags;
    try {
      tags = readTags((await readSubscription(request.subscriptionId, READ_TIMEOUT_MS)).tags, tagNames);
    } catch (error) {
      doubts.push(`tags could not be read, planned without them: ${messageOf(error)}`);
    }
    const plan = planRun(rules, request.managementGroupId, tags, ticketOverride);
    return { plan, gate: await tryGates(gates, plan.ticket), doubts };
  };

export type DryRunUseCase = ReturnType<typeof createDryRun>;

const tryGates = async (gates: readonly Gate[], ticket: string): Promise<GateOutcome> => {
  try {
    return await passGates(gates, ticket);
  } catch (error) {
    return { passed: false, error: messageOf(error) };
  }
};

const messageOf = (error: unknown): string =>
  error instanceof AppError ? error.message : 'unexpected error';
