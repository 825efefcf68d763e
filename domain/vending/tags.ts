/** Tag keys as configured; the values are the names to look for. */
export interface TagNames {
  readonly environment: string;
  readonly k8s: string;
  readonly budget: string;
  readonly owner: string;
  readonly ticket: string;
}

/** What the tags of a subscription say. `environment` undefined means that the tag is absent or empty. */
export interface TagValues {
  readonly environment: string | undefined;
  readonly k8s: boolean;
  /** Monthly amount in EUR; 0 means no budget. */
  readonly budget: number;
  readonly owner: string | undefined;
  readonly ticket: string | undefined;
}

const MAX_BUDGET = 1_000_000_000;
const EMAIL = /^[^\s@<>,;]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){1,8}$/;
const TICKET = /^[A-Za-z0-9_-]{1,64}$/;

/** A ticket number goes into an encoded query, where `^` is an operator; only this alphabet may reach it. */
export const isTicketNumber = (text: string): boolean => TICKET.test(text);

/**
 * Reads the tags; a value that makes no sense counts as absent, so provisioning continues with the default.
 * Tag keys are compared without case, as the management API does. A ticket that is no ticket number is kept:
 * the gate must refuse it, not overlook it.
 */
export const readTags = (tags: Readonly<Record<string, string>>, names: TagNames): TagValues => {
  const byKey = new Map(Object.entries(tags).map(([key, value]) => [key.toLowerCase(), value.trim()]));
  const value = (name: string) => byKey.get(name.toLowerCase()) || undefined;
  const owner = value(names.owner);
  return {
    environment: value(names.environment)?.toLowerCase(),
    k8s: value(names.k8s)?.toLowerCase() === 'true',
    budget: parseBudget(value(names.budget)),
    owner: owner !== undefined && EMAIL.test(owner) ? owner : undefined,
    ticket: value(names.ticket),
  };
};

const parseBudget = (text: string | undefined): number => {
  if (text === undefined || !/^\+?\d{1,10}$/.test(text)) return 0;
  const amount = Number(text);
  return amount <= MAX_BUDGET ? amount : 0;
};

export const noTags: TagValues = {
  environment: undefined,
  k8s: false,
  budget: 0,
  owner: undefined,
  ticket: undefined,
};
