import { ConsumptionManagementClient } from '@azure/arm-consumption';
import type { Budget as ArmBudget, BudgetTimePeriod, Notification } from '@azure/arm-consumption';
import type { Clock } from '../../../domain/clock.js';
import { AppError } from '../../../domain/errors.js';
import type { Budget } from '../../../domain/vending/plan.js';
import type { ArmAccess } from './client.js';
import { cloudCall } from './faults.js';

const BUDGET_NAME = 'subscription-budget';
const THRESHOLDS_PERCENT = [80, 100] as const;
const YEARS = 3;

/** Writes the monthly cost budget; one that is there keeps its period, since a start in the past cannot be sent again. */
export const createBudgetWriter = ({ credential, options }: ArmAccess, clock: Clock) => {
  const client = new ConsumptionManagementClient(credential, '', options);
  return async (subscriptionId: string, budget: Budget): Promise<void> => {
    const scope = `subscriptions/${subscriptionId}`;
    const present = await readBudget(client, scope);
    const wanted: ArmBudget = {
      category: 'Cost',
      amount: budget.amount,
      timeGrain: 'Monthly',
      timePeriod: present?.timePeriod ?? newPeriod(clock.now()),
      notifications: alerts(budget.contactEmail),
      ...(present?.eTag === undefined ? {} : { eTag: present.eTag }),
    };
    await cloudCall('write the budget', (call) =>
      client.budgets.createOrUpdate(scope, BUDGET_NAME, wanted, call),
    );
  };
};

const readBudget = async (
  client: ConsumptionManagementClient,
  scope: string,
): Promise<ArmBudget | undefined> => {
  try {
    return await cloudCall('read the budget', (call) => client.budgets.get(scope, BUDGET_NAME, call));
  } catch (error) {
    if (error instanceof AppError && error.kind === 'not_found') return undefined;
    throw error;
  }
};

/** From the first of this month, as the API demands, for three years. */
const newPeriod = (now: Date): BudgetTimePeriod => ({
  startDate: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)),
  endDate: new Date(Date.UTC(now.getUTCFullYear() + YEARS, now.getUTCMonth(), 1)),
});

/** An alert must reach somebody: without an address, the owners of the subscription. */
const alerts = (email: string | undefined): Record<string, Notification> =>
  Object.fromEntries(
    THRESHOLDS_PERCENT.map((threshold) => [
      `Actual_${threshold}Percent`,
      {
        enabled: true,
        operator: 'GreaterThan',
        threshold,
        thresholdType: 'Actual',
        contactEmails: email === undefined ? [] : [email],
        ...(email === undefined ? { contactRoles: ['Owner'] } : {}),
      },
    ]),
  );

export type WriteBudget = ReturnType<typeof createBudgetWriter>;
