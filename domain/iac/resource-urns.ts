import type { Resource } from './deployment.js';
import type { Json, Sliced } from './json.js';
import { formatUrn, mapProviderReference, ownType, parseUrn, ROOT_STACK_TYPE } from './urn.js';

type ChangeUrn = (urn: string) => string;
const SINGLE = ['urn', 'parent', 'deletedWith', 'viewOf'] as const;
const LISTS = ['dependencies', 'replaceWith', 'aliases'] as const;

export const strings = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : [];

export const stringLists = (value: Json | undefined): readonly (readonly [string, readonly string[]])[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).map(([key, list]) => [key, strings(list)])
    : [];

/** The resource with every URN it carries (its own and its references; not its properties) put through `change`. */
export const mapUrns = (resource: Resource, change: ChangeUrn): Resource => {
  const changed: Record<string, Json> = {};
  for (const member of SINGLE) {
    const urn = resource[member];
    if (typeof urn === 'string' && urn !== '') changed[member] = change(urn);
  }
  for (const member of LISTS) {
    if (resource[member] !== undefined) changed[member] = strings(resource[member]).map(change);
  }
  if (resource['propertyDependencies'] !== undefined) {
    changed['propertyDependencies'] = Object.fromEntries(
      stringLists(resource['propertyDependencies']).map(([key, list]) => [key, list.map(change)]),
    );
  }
  const { provider } = resource;
  if (typeof provider === 'string' && provider !== '')
    changed['provider'] = mapProviderReference(provider, change);
  return { ...resource, ...changed };
};

/** Where an aliased resource is now. A child of an aliased parent has moved with it. */
export function* aliasMap(resources: readonly Resource[]): Sliced<ReadonlyMap<string, string>> {
  const aliased = new Map<string, string>();
  for (const [index, resource] of resources.entries()) {
    if (index % 500 === 0) yield;
    for (const alias of strings(resource['aliases'])) {
      if (!aliased.has(alias)) aliased.set(alias, resource.urn);
    }
    const parentNow = typeof resource['parent'] === 'string' ? aliased.get(resource['parent']) : undefined;
    const moved = parentNow === undefined ? undefined : underParent(resource.urn, parentNow);
    if (moved !== undefined) aliased.set(resource.urn, moved);
  }
  return aliased;
}

const underParent = (urn: string, parent: string): string | undefined => {
  const [child, above] = [parseUrn(urn), parseUrn(parent)];
  if (child === undefined || above === undefined || above.qualifiedType === ROOT_STACK_TYPE) return undefined;
  return formatUrn({ ...child, qualifiedType: `${above.qualifiedType}$${ownType(child)}` });
};

/** Resources refer to each other by present URNs, and no aliases are left: as the CLI writes a state. */
export function* normalizeUrns(resources: readonly Resource[]): Sliced<readonly Resource[]> {
  const aliased = yield* aliasMap(resources);
  const change: ChangeUrn = (urn) => aliased.get(urn) ?? urn;
  const normal: Resource[] = [];
  for (const [index, resource] of resources.entries()) {
    if (index % 200 === 0) yield;
    const mapped = aliased.size === 0 ? resource : mapUrns(resource, change);
    normal.push(mapped['aliases'] === undefined ? mapped : without(mapped, 'aliases'));
  }
  return normal;
}

export const without = (resource: Resource, ...members: readonly string[]): Resource =>
  Object.fromEntries(Object.entries(resource).filter(([member]) => !members.includes(member))) as Resource;

/**
 * After a refresh: references to resources that no longer come before the referring one are dropped, since a
 * refresh may delete what others still depend on; dangling parents are lifted.
 */
export function* rebuildDependencies(resources: readonly Resource[]): Sliced<readonly Resource[]> {
  const before = new Set<string>();
  const rebuilt: Resource[] = [];
  for (const [index, resource] of resources.entries()) {
    if (index % 200 === 0) yield;
    rebuilt.push(keepReferences(resource, before));
    before.add(resource.urn);
  }
  return liftParents(rebuilt, before);
}

const keepReferences = (resource: Resource, before: ReadonlySet<string>): Resource => {
  const kept: Record<string, Json> = {};
  const empty: string[] = [];
  const put = (member: string, value: Json, isEmpty: boolean) => {
    if (isEmpty) empty.push(member);
    else kept[member] = value;
  };
  const present = (urn: string) => before.has(urn);
  for (const member of ['dependencies', 'replaceWith']) {
    if (resource[member] === undefined) continue;
    const list = strings(resource[member]).filter(present);
    put(member, list, list.length === 0);
  }
  if (resource['propertyDependencies'] !== undefined) {
    const lists = stringLists(resource['propertyDependencies'])
      .map(([key, list]) => [key, list.filter(present)] as const)
      .filter(([, list]) => list.length > 0);
    put('propertyDependencies', Object.fromEntries(lists), lists.length === 0);
  }
  const { deletedWith } = resource;
  if (typeof deletedWith === 'string') put('deletedWith', deletedWith, !present(deletedWith));
  const changed = { ...resource, ...kept };
  return empty.length === 0 ? changed : without(changed, ...empty);
};

const liftParents = (resources: readonly Resource[], present: ReadonlySet<string>): readonly Resource[] => {
  const parentOf = new Map(resources.map(({ urn, parent }) => [urn, parent]));
  return resources.map((resource) => {
    const { parent } = resource;
    if (typeof parent !== 'string' || parent === '' || present.has(parent)) return resource;
    const lifted = parentOf.get(parent);
    return typeof lifted === 'string' && lifted !== ''
      ? { ...resource, parent: lifted }
      : without(resource, 'parent');
  });
};
