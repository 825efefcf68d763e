import { z } from 'zod';
import type { Deployment, PendingOperation, Resource, UntypedDeployment } from './deployment.js';
import { isResource, SCHEMA_VERSION, SCHEMA_VERSION_WITH_FEATURES } from './deployment.js';
import type { Json, Sliced } from './json.js';
import { normalizeUrns, rebuildDependencies } from './resource-urns.js';

/** Replay of the CLI's journal, version 1 (`backend/journal.go` of CLI 3.259). */
export const JOURNAL_VERSION = 1;

export const journalKinds = {
  begin: 0,
  success: 1,
  failure: 2,
  refreshSuccess: 3,
  outputs: 4,
  write: 5,
  secretsManager: 6,
  rebuiltBase: 7,
  extension: 8,
  snippets: 9,
} as const;

const index = z.int().min(0).nullish();
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isOperation = (value: unknown): boolean =>
  isRecord(value) && typeof value['type'] === 'string' && isResource(value['resource'] as Json);
const isSnapshot = (value: unknown): boolean => {
  if (!isRecord(value)) return false;
  const { resources = [], pending_operations: pending = [] } = value;
  return (
    (resources === null || (Array.isArray(resources) && resources.every(isResource))) &&
    (pending === null || (Array.isArray(pending) && pending.every(isOperation)))
  );
};
const resource = z.custom<Resource>(
  (value) => isResource(value as Json),
  'must be a resource with `urn` and `type`',
);
const operation = z.custom<PendingOperation>(isOperation, 'must be an operation with `type` and `resource`');
const snapshot = z.custom<Deployment>(isSnapshot, 'must be a deployment');

/** One entry. `*Old` is an index into the base state, `*New` the operation of an entry of the same update. */
export const journalEntry = z.object({
  version: z.literal(JOURNAL_VERSION),
  kind: z.int().min(0).max(9),
  sequenceID: z.int().min(1),
  operationID: z.int(),
  removeOld: index,
  removeNew: index,
  pendingReplacementOld: index,
  pendingReplacementNew: index,
  deleteOld: index,
  deleteNew: index,
  state: resource.nullish(),
  operation: operation.nullish(),
  isRefresh: z.boolean().nullish(),
  secretsProvider: z.custom<Json>(isRecord, 'must be an object').nullish(),
  newSnapshot: snapshot.nullish(),
  snippets: z.array(z.custom<Json>(() => true)).nullish(),
  extensionRef: z.string().nullish(),
  extension: z.custom<Json>(() => true).optional(),
  requiresByteString: z.boolean().nullish(),
});
export type JournalEntry = z.infer<typeof journalEntry>;

/** Written into the folded state; `magic` is the hex SHA-256 of `version`, empty for an empty version. */
export interface Manifest {
  readonly time: string;
  readonly magic: string;
  readonly version: string;
}

interface Replay {
  base: Deployment;
  /** Fate of base entries, by index. */
  readonly droppedOld: Set<number>;
  readonly replacedOld: Map<number, Resource>;
  readonly deletedOld: Set<number>;
  readonly pendingReplacementOld: Set<number>;
  /** What this update produced, by operation, in order; `undefined` = removed again. */
  readonly produced: { state: Resource | undefined }[];
  readonly byOperation: Map<number, { state: Resource | undefined }>;
  readonly begun: Map<number, PendingOperation | undefined>;
  readonly extensions: Map<string, Json>;
}

const startFrom = (base: Deployment): Replay => ({
  base,
  droppedOld: new Set(),
  replacedOld: new Map(),
  deletedOld: new Set(),
  pendingReplacementOld: new Set(),
  produced: [],
  byOperation: new Map(),
  begun: new Map(),
  extensions: new Map(),
});

/**
 * The state after `entries` (in order of `sequenceID`) happened to `base`. Total: an entry that refers to nothing
 * changes nothing, so that no journal can keep a state from being folded and no resource is dropped by mistake.
 */
export function* foldJournal(
  base: UntypedDeployment,
  entries: Iterable<JournalEntry>,
  manifest: Manifest,
): Sliced<UntypedDeployment> {
  let replay = startFrom(base.deployment);
  let hasRefresh = false;
  let byteStrings = base.features.includes('byteString');
  for (const entry of entries) {
    yield;
    byteStrings ||= entry.requiresByteString === true;
    hasRefresh ||= entry.kind === journalKinds.refreshSuccess || entry.isRefresh === true;
    if (entry.kind === journalKinds.rebuiltBase) {
      replay = startFrom(yield* generate(replay, hasRefresh, manifest));
    } else add(replay, entry);
  }
  const deployment = yield* generate(replay, hasRefresh, manifest);
  const features = featuresOf(deployment, byteStrings);
  return {
    version: features.length > 0 ? SCHEMA_VERSION_WITH_FEATURES : SCHEMA_VERSION,
    features,
    deployment,
  };
}

const add = (replay: Replay, entry: JournalEntry): void => {
  switch (entry.kind) {
    case journalKinds.begin:
      replay.begun.set(entry.operationID, entry.operation ?? undefined);
      return;
    case journalKinds.failure:
      replay.begun.delete(entry.operationID);
      return;
    case journalKinds.success:
      addSuccess(replay, entry);
      return;
    case journalKinds.refreshSuccess:
      replay.begun.delete(entry.operationID);
      replaceOrDrop(replay, entry);
      return;
    case journalKinds.outputs:
      if (entry.state) replaceOrDrop(replay, entry);
      return;
    case journalKinds.write:
      if (entry.newSnapshot) replay.base = entry.newSnapshot;
      return;
    case journalKinds.secretsManager:
      if (entry.secretsProvider) replay.base = { ...replay.base, secrets_providers: entry.secretsProvider };
      return;
    case journalKinds.extension:
      if (entry.extensionRef && entry.extension !== undefined) {
        replay.extensions.set(entry.extensionRef, entry.extension);
      }
      return;
    case journalKinds.snippets:
      replay.base = { ...replay.base, snippets: entry.snippets ?? [] };
      return;
  }
};

const addSuccess = (replay: Replay, entry: JournalEntry): void => {
  replay.begun.delete(entry.operationID);
  if (entry.state) {
    const slot = { state: entry.state };
    replay.produced.push(slot);
    replay.byOperation.set(entry.operationID, slot);
  }
  if (isIndex(entry.removeOld)) replay.droppedOld.add(entry.removeOld);
  if (isIndex(entry.removeNew)) changeNew(replay, entry.removeNew, () => undefined);
  if (isIndex(entry.deleteOld)) replay.deletedOld.add(entry.deleteOld);
  if (isIndex(entry.deleteNew)) changeNew(replay, entry.deleteNew, (state) => ({ ...state, delete: true }));
  if (isIndex(entry.pendingReplacementOld)) replay.pendingReplacementOld.add(entry.pendingReplacementOld);
  if (isIndex(entry.pendingReplacementNew)) {
    changeNew(replay, entry.pendingReplacementNew, (state) => ({ ...state, pendingReplacement: true }));
  }
};

const isIndex = (value: number | null | undefined): value is number => typeof value === 'number';

/** With a state the named entry is replaced in place, without one it is dropped. */
const replaceOrDrop = (replay: Replay, { removeOld, removeNew, state }: JournalEntry): void => {
  if (isIndex(removeOld)) {
    if (state) replay.replacedOld.set(removeOld, state);
    else replay.droppedOld.add(removeOld);
  }
  if (isIndex(removeNew)) changeNew(replay, removeNew, () => state ?? undefined);
};

const changeNew = (
  replay: Replay,
  operationId: number,
  change: (state: Resource) => Resource | undefined,
): void => {
  const slot = replay.byOperation.get(operationId);
  if (slot?.state !== undefined) slot.state = change(slot.state);
};

const REBUILT: ReadonlySet<string> = new Set(['pending_operations', 'extensions']);

function* generate(replay: Replay, hasRefresh: boolean, manifest: Manifest): Sliced<Deployment> {
  let resources: readonly Resource[] = [
    ...replay.produced.flatMap(({ state }) => state ?? []),
    ...(replay.base.resources ?? []).flatMap((old, at) => oldEntry(replay, old, at)),
  ];
  yield;
  if (hasRefresh) resources = yield* rebuildDependencies(resources);
  resources = yield* normalizeUrns(resources);
  const pending = pendingOperations(replay);
  const extensions = {
    ...Object.fromEntries(replay.extensions),
    ...(replay.base['extensions'] as object | undefined),
  };
  const rest = Object.entries(replay.base).filter(([member]) => !REBUILT.has(member));
  return {
    ...Object.fromEntries(rest),
    manifest: { ...manifest },
    resources,
    ...(pending.length > 0 ? { pending_operations: pending } : {}),
    ...(Object.keys(extensions).length > 0 ? { extensions } : {}),
  };
}

/** A drop beats a replace, and a replaced entry keeps no mark. */
const oldEntry = (replay: Replay, old: Resource, at: number): readonly Resource[] => {
  if (replay.droppedOld.has(at)) return [];
  const replacement = replay.replacedOld.get(at);
  if (replacement !== undefined) return [replacement];
  if (!replay.pendingReplacementOld.has(at) && !replay.deletedOld.has(at)) return [old];
  return [
    {
      ...old,
      ...(replay.pendingReplacementOld.has(at) ? { pendingReplacement: true } : {}),
      ...(replay.deletedOld.has(at) ? { delete: true } : {}),
    },
  ];
};

/** Begun and not ended, and the base's own creates: those are for a person to resolve. */
const pendingOperations = (replay: Replay): readonly PendingOperation[] => [
  ...[...replay.begun.values()].filter((begun) => begun !== undefined),
  ...(replay.base.pending_operations ?? []).filter(({ type }) => type === 'creating'),
];

const featuresOf = (deployment: Deployment, byteStrings: boolean): readonly string[] => {
  const features = new Set<string>();
  const all = [
    ...(deployment.resources ?? []),
    ...(deployment.pending_operations ?? []).map((pending) => pending.resource),
  ];
  if (byteStrings && all.length > 0) features.add('byteString');
  for (const item of all) {
    if (item['refreshBeforeUpdate'] === true) features.add('refreshBeforeUpdate');
    if (isFilled(item['viewOf'])) features.add('views');
    if (isFilled(item['resourceHooks'])) features.add('hooks');
    if (item['taint'] === true) features.add('taint');
    if (isFilled(item['replaceWith'])) features.add('replaceWith');
    if (isFilled(item['extensionRef'])) features.add('extensionParameterization');
    if (isFilled(item['snippetID'])) features.add('snippets-prototype');
  }
  if (isFilled(deployment['snippets'] as Json | undefined)) features.add('snippets-prototype');
  return [...features].sort();
};

const isFilled = (value: Json | undefined): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
