import { createHash } from 'node:crypto';
import { ArmFault } from './model.js';

interface BudgetProperties {
  readonly category?: string;
  readonly amount?: number;
  readonly timeGrain?: string;
  readonly timePeriod?: { readonly startDate?: string; readonly endDate?: string };
  readonly notifications?: Readonly<Record<string, { contactEmails?: string[]; contactRoles?: string[] }>>;
}

export const etagOf = (properties: unknown): string =>
  `"${createHash('sha256').update(JSON.stringify(properties)).digest('hex').slice(0, 16)}"`;

/** Judges a PUT of a budget by the rules of the API; returns its properties. */
export const checkBudget = (
  body: unknown,
  present: { eTag: string } | undefined,
  now: Date,
): BudgetProperties => {
  const { properties, eTag } = body as { properties?: BudgetProperties; eTag?: string };
  const refuse = (message: string): never => {
    throw new ArmFault(400, '400', message);
  };
  if (properties === undefined) return refuse('Budget properties are missing.');
  if (present !== undefined && eTag !== undefined && eTag !== present.eTag) {
    throw new ArmFault(409, 'ETagMismatch', 'The eTag does not match.');
  }
  if (properties.category !== 'Cost') return refuse('Category must be Cost.');
  if (!(Number(properties.amount) > 0)) return refuse('Amount must be greater than zero.');
  if (properties.timeGrain !== 'Monthly') return refuse('Time grain is not supported.');
  checkPeriod(properties, present !== undefined, now, refuse);
  const notifications = Object.values(properties.notifications ?? {});
  if (notifications.length > 5) return refuse('At most five notifications.');
  if (
    notifications.some(({ contactEmails, contactRoles }) => !contactEmails?.length && !contactRoles?.length)
  ) {
    return refuse('A notification needs contact e-mails, roles or groups.');
  }
  return properties;
};

const checkPeriod = (
  { timePeriod }: BudgetProperties,
  exists: boolean,
  now: Date,
  refuse: (message: string) => never,
): void => {
  const start = new Date(timePeriod?.startDate ?? '');
  if (Number.isNaN(start.getTime()) || start.getUTCDate() !== 1 || start.getUTCHours() !== 0) {
    refuse('Start date must be the first of a month.');
  }
  const monthsAhead =
    (start.getUTCFullYear() - now.getUTCFullYear()) * 12 + start.getUTCMonth() - now.getUTCMonth();
  if (monthsAhead > 3 || (monthsAhead < 0 && !exists)) refuse('Start date is outside the allowed range.');
};
