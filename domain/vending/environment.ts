import { isManagementGroupId } from './subscription.js';

/** Environment name (lower case) to management group id. */
export type EnvironmentMapping = ReadonlyMap<string, string>;
export type EnforcementMode = 'Default' | 'DoNotEnforce';

export const ORGANIZATION = 'Keystead';
export const SANDBOX = 'sandbox';
const SANDBOX_GROUP = `${ORGANIZATION}-Sandbox`;

export const defaultMapping = JSON.stringify({
  production: `${ORGANIZATION}-Production`,
  staging: `${ORGANIZATION}-Staging`,
  development: `${ORGANIZATION}-Development`,
  sandbox: SANDBOX_GROUP,
});

/** Malformed JSON, or anything but an object of group ids, replaces the whole map by its sandbox entry. */
export const parseMapping = (json: string): EnvironmentMapping => {
  const entries = groupEntries(json);
  return new Map(entries ?? [[SANDBOX, SANDBOX_GROUP]]);
};

const groupEntries = (json: string): [string, string][] | undefined => {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return undefined;
  const entries: [string, string][] = [];
  for (const [environment, group] of Object.entries(parsed)) {
    if (typeof group !== 'string' || !isManagementGroupId(group)) return undefined;
    entries.push([environment.toLowerCase(), group]);
  }
  return entries;
};

const sandboxOf = (mapping: EnvironmentMapping): string => mapping.get(SANDBOX) ?? SANDBOX_GROUP;

/** Tag present: the map, unknown values to sandbox. Tag absent: the group asked for, else sandbox. */
export const chooseManagementGroup = (
  mapping: EnvironmentMapping,
  environment: string | undefined,
  requestedGroup: string,
): string => {
  if (environment !== undefined) return mapping.get(environment) ?? sandboxOf(mapping);
  return isManagementGroupId(requestedGroup) ? requestedGroup : sandboxOf(mapping);
};

export const enforcementMode = (environment: string): EnforcementMode =>
  environment === 'production' ? 'Default' : 'DoNotEnforce';
