import { AppError } from '../errors.js';
import type { Json, Sliced, Span } from './json.js';
import { listItems, objectMembers, parseJson } from './json.js';

/** A resource of a state (ResourceV3 of the CLI). Unknown members travel along untouched. */
export interface Resource {
  readonly urn: string;
  readonly type: string;
  readonly [member: string]: Json;
}

export interface PendingOperation {
  readonly resource: Resource;
  readonly type: string;
}

/** DeploymentV3 of the CLI. Unknown members travel along untouched. */
export interface Deployment {
  readonly resources?: readonly Resource[];
  readonly pending_operations?: readonly PendingOperation[];
  readonly [member: string]: Json | readonly Resource[] | readonly PendingOperation[] | undefined;
}

/** What export sends and import takes. */
export interface UntypedDeployment {
  readonly version: number;
  readonly features: readonly string[];
  readonly deployment: Deployment;
}

export const SCHEMA_VERSION = 3;
export const SCHEMA_VERSION_WITH_FEATURES = 4;

const knownFeatures: ReadonlySet<string> = new Set([
  'refreshBeforeUpdate',
  'views',
  'hooks',
  'taint',
  'replaceWith',
  'snippets-prototype',
  'extensionParameterization',
  'byteString',
]);

export const emptyDeployment: UntypedDeployment = { version: SCHEMA_VERSION, features: [], deployment: {} };

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isResource = (value: Json | undefined): value is Resource =>
  isObject(value) && typeof value['urn'] === 'string' && typeof value['type'] === 'string';

const refuse = (why: string): AppError => new AppError('malformed', `not a state: ${why}`);

const checkVersion = (version: Json | undefined): number => {
  if (typeof version !== 'number' || !Number.isInteger(version) || version < 1) {
    throw refuse('`version` must be a positive whole number');
  }
  if (version > SCHEMA_VERSION_WITH_FEATURES) throw refuse(`schema version ${version} is newer than 4`);
  return version;
};

const checkFeatures = (features: Json | undefined): readonly string[] => {
  const names = features ?? [];
  if (!Array.isArray(names)) throw refuse('`features` must be a list');
  for (const name of names as readonly Json[]) {
    if (typeof name !== 'string' || !knownFeatures.has(name)) {
      throw refuse(`feature ${JSON.stringify(name).slice(0, 60)} is not known here`);
    }
  }
  return names as readonly string[];
};

/** Accepts `{version, features?, deployment}` of schema 1 to 4; throws `malformed` naming what is wrong. */
export function* readDeployment(value: Json): Sliced<UntypedDeployment> {
  if (!isObject(value)) throw refuse('an object is expected');
  const version = checkVersion(value['version']);
  const features = checkFeatures(value['features']);
  const inner = value['deployment'] ?? {};
  if (!isObject(inner)) throw refuse('`deployment` must be an object');
  yield* checkResources(inner['resources'] ?? []);
  yield* checkOperations(inner['pending_operations'] ?? []);
  return { version, features, deployment: inner };
}

/**
 * Accepts and refuses the same texts as `readDeployment`, but keeps nothing: a state of hundreds of megabytes leaves
 * no tree behind for the garbage collector. Returns the number of resources.
 */
export function* checkDeploymentText(bytes: Uint8Array): Sliced<number> {
  const members = yield* objectMembers(bytes);
  let resources = 0;
  const parsed = function* (span: Span | undefined): Sliced<Json | undefined> {
    return span === undefined ? undefined : yield* parseJson(bytes, span);
  };
  checkVersion(yield* parsed(members.get('version')));
  checkFeatures(yield* parsed(members.get('features')));
  for (const [name, span] of members) {
    if (name !== 'deployment') yield* parseJson(bytes, span);
    else if (bytes[span.start] === OPEN_OBJECT) resources = yield* checkInner(bytes, span);
    else if ((yield* parseJson(bytes, span)) !== null) throw refuse('`deployment` must be an object');
  }
  return resources;
}

const OPEN_OBJECT = 0x7b;
const OPEN_LIST = 0x5b;

function* checkInner(bytes: Uint8Array, span: Span): Sliced<number> {
  let resources = 0;
  for (const [name, member] of yield* objectMembers(bytes, span)) {
    if (name === 'resources' && bytes[member.start] === OPEN_LIST) {
      const items = yield* listItems(bytes, member);
      for (const [index, item] of items.entries()) {
        if (!isResource(yield* parseJson(bytes, item)))
          throw refuse(`resources[${index}] needs \`urn\` and \`type\``);
      }
      resources = items.length;
      continue;
    }
    const value = yield* parseJson(bytes, member);
    if (name === 'resources') yield* checkResources(value ?? []);
    if (name === 'pending_operations') yield* checkOperations(value ?? []);
  }
  return resources;
}

function* checkResources(resources: Json): Sliced<void> {
  if (!Array.isArray(resources)) throw refuse('`resources` must be a list');
  for (const [index, resource] of (resources as readonly Json[]).entries()) {
    if (!isResource(resource)) throw refuse(`resources[${index}] needs \`urn\` and \`type\``);
    if (index % 500 === 0) yield;
  }
}

function* checkOperations(operations: Json): Sliced<void> {
  if (!Array.isArray(operations)) throw refuse('`pending_operations` must be a list');
  for (const [index, operation] of (operations as readonly Json[]).entries()) {
    if (!isObject(operation) || typeof operation['type'] !== 'string' || !isResource(operation['resource'])) {
      throw refuse(`pending_operations[${index}] needs \`type\` and \`resource\``);
    }
    if (index % 500 === 0) yield;
  }
}

export const resourceCount = ({ deployment }: UntypedDeployment): number => deployment.resources?.length ?? 0;

/** The JSON text in pieces, one a resource. */
export function* deploymentText({ version, features, deployment }: UntypedDeployment): Generator<string> {
  const head = features.length === 0 ? { version } : { version, features };
  yield `${JSON.stringify(head).slice(0, -1)},"deployment":{`;
  let comma = '';
  for (const [member, value] of Object.entries(deployment)) {
    if (value === undefined) continue;
    yield `${comma}${JSON.stringify(member)}:`;
    comma = ',';
    if (member === 'resources') yield* listText(value as readonly Json[]);
    else yield JSON.stringify(value);
  }
  yield '}}';
}

function* listText(items: readonly Json[]): Generator<string> {
  let comma = '[';
  for (const item of items) {
    yield comma + JSON.stringify(item);
    comma = ',';
  }
  yield items.length === 0 ? '[]' : ']';
}
