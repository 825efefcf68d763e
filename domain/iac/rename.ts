import type { Deployment, PendingOperation, Resource, UntypedDeployment } from './deployment.js';
import type { Json, Sliced } from './json.js';
import type { StackName } from './names.js';
import { mapUrns } from './resource-urns.js';
import { formatUrn, parseUrn, ROOT_STACK_TYPE } from './urn.js';

const SIGNATURE = '4dabf18193072939515e22adb298388d';
const RESOURCE_REFERENCE = '5cf8f73096256a8f31e491e813e4eb8e';

/** The new URN of a resource of the renamed stack; URNs of other stacks are left alone. */
export const renameUrn = (from: StackName, to: StackName) => {
  return (text: string): string => {
    const urn = parseUrn(text);
    if (urn?.stack !== from.stack || urn.project !== from.project) return text;
    const name = urn.qualifiedType === ROOT_STACK_TYPE ? `${to.project}-${to.stack}` : urn.name;
    return formatUrn({ ...urn, stack: to.stack, project: to.project, name });
  };
};

/**
 * The state under the stack's new name, as the CLI's own `RenameStack` writes it: every URN in resources, pending
 * operations, resource references and snippets, and the address in `secrets_providers` by which decrypt is called.
 */
export function* renameDeployment(
  state: UntypedDeployment,
  from: StackName,
  to: StackName,
): Sliced<UntypedDeployment> {
  const change = renameUrn(from, to);
  const rename = (resource: Resource): Resource => renameReferences(mapUrns(resource, change), change);
  const resources: Resource[] = [];
  for (const [index, resource] of (state.deployment.resources ?? []).entries()) {
    if (index % 100 === 0) yield;
    resources.push(rename(resource));
  }
  const operations = state.deployment.pending_operations?.map((pending): PendingOperation => ({
    ...pending,
    resource: rename(pending.resource),
  }));
  const deployment: Deployment = {
    ...state.deployment,
    ...(state.deployment.resources === undefined ? {} : { resources }),
    ...(operations === undefined ? {} : { pending_operations: operations }),
    ...renameSecretsProvider(state.deployment, from, to),
    ...renameSnippets(state.deployment, change),
  };
  return { ...state, deployment };
}

const renameReferences = (resource: Resource, change: (urn: string) => string): Resource => {
  const changed: Record<string, Json> = {};
  for (const member of ['inputs', 'outputs', 'replacementTrigger']) {
    if (resource[member] !== undefined) changed[member] = renameInValue(resource[member], change);
  }
  return { ...resource, ...changed };
};

/** Only values marked as resource references hold URNs; other text that looks like one is the user's own. */
const renameInValue = (value: Json, change: (urn: string) => string): Json => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => renameInValue(item, change));
  const record = value as { readonly [key: string]: Json };
  if (record[SIGNATURE] === RESOURCE_REFERENCE && typeof record['urn'] === 'string') {
    return { ...record, urn: change(record['urn']) };
  }
  return Object.fromEntries(Object.entries(record).map(([key, item]) => [key, renameInValue(item, change)]));
};

const isRecord = (value: unknown): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const renameSecretsProvider = (
  deployment: Deployment,
  from: StackName,
  to: StackName,
): Partial<Deployment> => {
  const provider = deployment['secrets_providers'];
  if (!isRecord(provider) || !isRecord(provider['state'])) return {};
  const { state } = provider;
  if (state['project'] !== from.project || state['stack'] !== from.stack) return {};
  return { secrets_providers: { ...provider, state: { ...state, project: to.project, stack: to.stack } } };
};

const renameSnippets = (deployment: Deployment, change: (urn: string) => string): Partial<Deployment> => {
  const snippets = deployment['snippets'];
  if (!Array.isArray(snippets)) return {};
  return {
    snippets: (snippets as readonly Json[]).map((snippet) =>
      isRecord(snippet) && isRecord(snippet['references'])
        ? {
            ...snippet,
            references: Object.fromEntries(
              Object.entries(snippet['references']).map(([key, urn]) => [
                key,
                typeof urn === 'string' ? change(urn) : urn,
              ]),
            ),
          }
        : snippet,
    ),
  };
};
