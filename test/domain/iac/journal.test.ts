import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Deployment, Resource, UntypedDeployment } from '../../../domain/iac/deployment.js';
import { deploymentText, readDeployment } from '../../../domain/iac/deployment.js';
import type { JournalEntry } from '../../../domain/iac/journal.js';
import { foldJournal, journalEntry, journalKinds as kinds } from '../../../domain/iac/journal.js';
import { atOnce } from '../../../domain/iac/json.js';

const manifest = { time: '2026-01-01T00:00:00Z', magic: 'm', version: 'v3.259.0' };
const urn = (name: string): string => `urn:pulumi:dev::p::t:m:R::${name}`;
const res = (name: string, more: Partial<Resource> = {}): Resource => ({
  urn: urn(name),
  type: 't:m:R',
  ...more,
});
const base = (...resources: Resource[]): UntypedDeployment => ({
  version: 3,
  features: [],
  deployment: { resources },
});

let sequence = 0;
const entry = (kind: number, operationID: number, more: Partial<JournalEntry> = {}): JournalEntry => ({
  version: 1,
  kind,
  sequenceID: ++sequence,
  operationID,
  ...more,
});
const creates = (name: string, operationID: number) => [
  entry(kinds.begin, operationID, { operation: { resource: res(name), type: 'creating' } }),
  entry(kinds.success, operationID, { state: res(name) }),
];
const fold = (from: UntypedDeployment, entries: JournalEntry[]): UntypedDeployment =>
  atOnce(foldJournal(from, entries, manifest));
const names = ({ deployment }: UntypedDeployment): string[] =>
  (deployment.resources ?? []).map((resource) => resource.urn.slice(urn('').length));

describe('foldJournal', () => {
  it('puts new resources first, in the order they came, then what is left of the base', () => {
    const folded = fold(base(res('a'), res('b')), [
      ...creates('c', 1),
      entry(kinds.success, 2, { state: res('a', { id: 'new' }), removeOld: 0 }),
    ]);
    expect(names(folded)).toEqual(['c', 'a', 'b']);
    expect(folded.deployment.resources?.[1]).toEqual(res('a', { id: 'new' }));
    expect(folded).toMatchObject({ version: 3, features: [], deployment: { manifest } });
  });

  it('keeps a begun and not ended create as pending, and drops one that failed', () => {
    const begin = (name: string, operationID: number) =>
      entry(kinds.begin, operationID, { operation: { resource: res(name), type: 'creating' } });
    const folded = fold(base(), [begin('a', 1), begin('b', 2), entry(kinds.failure, 2)]);
    expect(folded.deployment.pending_operations).toEqual([{ resource: res('a'), type: 'creating' }]);
    expect(fold(base(), creates('c', 3)).deployment.pending_operations).toBeUndefined();
  });

  it('carries pending creates of the base on, and no other operations', () => {
    const pending = [
      { resource: res('x'), type: 'creating' },
      { resource: res('y'), type: 'updating' },
    ];
    const folded = fold({ ...base(), deployment: { pending_operations: pending } }, creates('a', 1));
    expect(folded.deployment.pending_operations).toEqual([pending[0]]);
  });

  it('marks, replaces and drops base entries; a drop beats a replace, a replace loses marks', () => {
    const folded = fold(base(res('a'), res('b'), res('c'), res('d'), res('e')), [
      entry(kinds.success, 1, { deleteOld: 0 }),
      entry(kinds.success, 2, { pendingReplacementOld: 1 }),
      entry(kinds.outputs, 3, { removeOld: 2, state: res('c', { id: 'c2' }) }),
      entry(kinds.success, 4, { deleteOld: 2 }),
      entry(kinds.outputs, 5, { removeOld: 3, state: res('d', { id: 'd2' }) }),
      entry(kinds.success, 6, { removeOld: 3 }),
    ]);
    expect(folded.deployment.resources).toEqual([
      res('a', { delete: true }),
      res('b', { pendingReplacement: true }),
      res('c', { id: 'c2' }),
      res('e'),
    ]);
  });

  it('marks, replaces and drops entries of the same update by their operation', () => {
    const folded = fold(base(), [
      ...creates('a', 1),
      ...creates('b', 2),
      ...creates('c', 3),
      ...creates('d', 4),
      entry(kinds.success, 5, { deleteNew: 1 }),
      entry(kinds.success, 6, { pendingReplacementNew: 2 }),
      entry(kinds.outputs, 7, { removeNew: 3, state: res('c', { outputs: { x: 1 } }) }),
      entry(kinds.success, 8, { removeNew: 4 }),
      entry(kinds.outputs, 9, { removeNew: 4, state: res('d') }),
    ]);
    expect(folded.deployment.resources).toEqual([
      res('a', { delete: true }),
      res('b', { pendingReplacement: true }),
      res('c', { outputs: { x: 1 } }),
    ]);
  });

  it('refreshes in place, and cuts references to what the refresh found gone', () => {
    const folded = fold(
      base(
        res('a'),
        res('b'),
        res('c', {
          parent: urn('a'),
          dependencies: [urn('a'), urn('b')],
          propertyDependencies: { x: [urn('a')], y: [urn('b'), urn('a')] },
          deletedWith: urn('a'),
          replaceWith: [urn('a')],
        }),
      ),
      [
        entry(kinds.refreshSuccess, 1, { removeOld: 0 }),
        entry(kinds.refreshSuccess, 2, { removeOld: 1, state: res('b', { outputs: { fresh: true } }) }),
      ],
    );
    expect(folded.deployment.resources).toEqual([
      res('b', { outputs: { fresh: true } }),
      res('c', { dependencies: [urn('b')], propertyDependencies: { y: [urn('b')] } }),
    ]);
  });

  it('keeps references when nothing was refreshed', () => {
    const dependent = res('b', { dependencies: [urn('gone')] });
    expect(fold(base(dependent), creates('a', 1)).deployment.resources?.[1]).toEqual(dependent);
  });

  it('begins anew from what it has at a rebuilt base: later indices refer to that', () => {
    const folded = fold(base(res('a'), res('b')), [
      entry(kinds.refreshSuccess, 1, { removeOld: 0 }),
      entry(kinds.rebuiltBase, 0),
      entry(kinds.success, 2, { removeOld: 0, state: res('b', { id: 'updated' }) }),
    ]);
    expect(folded.deployment.resources).toEqual([res('b', { id: 'updated' })]);
  });

  it('takes a written snapshot as base, and sets the secrets provider, extensions and snippets', () => {
    const newSnapshot: Deployment = { resources: [res('z')], metadata: { kept: true }, unknown: 'kept' };
    const provider = { type: 'service', state: { url: 'u' } };
    const folded = fold(base(res('a')), [
      entry(kinds.write, 0, { newSnapshot }),
      entry(kinds.secretsManager, 0, { secretsProvider: provider }),
      entry(kinds.extension, 0, { extensionRef: 'x', extension: { blob: 1 } }),
      entry(kinds.snippets, 0, { snippets: [{ id: 's' }] }),
    ]);
    expect(names(folded)).toEqual(['z']);
    expect(folded).toMatchObject({
      version: 4,
      features: ['snippets-prototype'],
      deployment: {
        metadata: { kept: true },
        unknown: 'kept',
        secrets_providers: provider,
        extensions: { x: { blob: 1 } },
        snippets: [{ id: 's' }],
      },
    });
  });

  it('moves references to the present URN of an aliased resource, and writes no aliases', () => {
    const folded = fold(
      base(res('child', { parent: urn('old'), dependencies: [urn('old')], provider: `${urn('old')}::id` })),
      [entry(kinds.success, 1, { state: res('new', { aliases: [urn('old')] }) })],
    );
    const moved = 'urn:pulumi:dev::p::t:m:R$t:m:R::child';
    expect(folded.deployment.resources).toEqual([
      res('new'),
      {
        urn: moved,
        type: 't:m:R',
        parent: urn('new'),
        dependencies: [urn('new')],
        provider: `${urn('new')}::id`,
      },
    ]);
  });

  it('names the features that the resources need', () => {
    const folded = fold(base(res('a', { taint: true, viewOf: urn('x') })), [
      entry(kinds.success, 1, { state: res('b', { replaceWith: [urn('a')] }), requiresByteString: true }),
    ]);
    expect(folded).toMatchObject({ version: 4, features: ['byteString', 'replaceWith', 'taint', 'views'] });
  });

  it('never drops a resource for a reference that names nothing', () => {
    const folded = fold(base(res('a')), [
      entry(kinds.success, 1, {
        removeOld: 9,
        removeNew: 9,
        deleteNew: 9,
        deleteOld: 9,
        pendingReplacementNew: 9,
      }),
      entry(kinds.outputs, 1, { removeNew: 7, state: res('b') }),
    ]);
    expect(folded.deployment.resources).toEqual([res('a')]);
  });

  it('is total, and its result reads back as a state, whatever the journal', () => {
    const index = fc.option(fc.nat(4), { nil: undefined });
    const anyEntry = fc.record({
      version: fc.constant(1 as const),
      kind: fc.integer({ min: 0, max: 9 }),
      sequenceID: fc.integer({ min: 1, max: 1000 }),
      operationID: fc.nat(4),
      removeOld: index,
      removeNew: index,
      deleteOld: index,
      deleteNew: index,
      pendingReplacementOld: index,
      pendingReplacementNew: index,
      state: fc.option(
        fc.constantFrom('a', 'b', 'c').map((name) => res(name, { aliases: [urn('b')] })),
        { nil: undefined },
      ),
      isRefresh: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 30 }), (entries) => {
        const folded = fold(base(res('a'), res('b', { parent: urn('a') })), entries);
        const text = [...deploymentText(folded)].join('');
        expect(atOnce(readDeployment(JSON.parse(text) as never))).toEqual(JSON.parse(JSON.stringify(folded)));
      }),
      { numRuns: 300 },
    );
  });

  it('loses no resource that was created and never removed', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 500 }), { maxLength: 60 }),
        fc.nat(60),
        (operations, cut) => {
          const entries = operations
            .flatMap((operation) => creates(`r${operation}`, operation))
            .slice(0, cut);
          const folded = fold(base(res('kept')), entries);
          const pending = (folded.deployment.pending_operations ?? []).map((item) => item.resource.urn);
          const begun = entries
            .filter(({ kind }) => kind === kinds.begin)
            .map((item) => item.operation?.resource.urn);
          const present = new Set([
            ...(folded.deployment.resources ?? []).map((item) => item.urn),
            ...pending,
          ]);
          expect(begun.filter((name) => name === undefined || !present.has(name))).toEqual([]);
          expect(present.has(urn('kept'))).toBe(true);
        },
      ),
    );
  });
});

describe('journalEntry', () => {
  const good = { version: 1, kind: 1, sequenceID: 1, operationID: 1, removeOld: null, removeNew: null };
  it('takes what the CLI sends', () => {
    expect(journalEntry.safeParse({ ...good, state: res('a') }).success).toBe(true);
  });
  it.each([
    { ...good, version: 2 },
    { ...good, kind: 10 },
    { ...good, sequenceID: 0 },
    { ...good, sequenceID: 1.5 },
    { ...good, removeOld: -1 },
    { ...good, state: { urn: 1, type: 't' } },
    { ...good, operation: { type: 'creating' } },
    { ...good, newSnapshot: { resources: [{}] } },
    { ...good, secretsProvider: [] },
    [],
    null,
  ])('refuses %j', (bad) => {
    expect(journalEntry.safeParse(bad).success).toBe(false);
  });
});
