import { describe, expect, it } from '@jest/globals';
import type { UntypedDeployment } from '../../../domain/iac/deployment.js';
import { atOnce } from '../../../domain/iac/json.js';
import { renameDeployment, renameUrn } from '../../../domain/iac/rename.js';

const from = { org: 'acme', project: 'shop', stack: 'dev' };
const to = { org: 'acme', project: 'store', stack: 'prod' };
const old = (rest: string) => `urn:pulumi:dev::shop::${rest}`;
const now = (rest: string) => `urn:pulumi:prod::store::${rest}`;
const foreign = 'urn:pulumi:dev::other::t:m:R::x';
const reference = (urn: string) => ({
  '4dabf18193072939515e22adb298388d': '5cf8f73096256a8f31e491e813e4eb8e',
  urn,
});

/** One state that carries a URN at every place where one can be. */
const state = (urn: (rest: string) => string, root: string, provider: object): UntypedDeployment => {
  const resource = {
    urn: urn('t:m:R$t:m:C::a::b'),
    type: 't:m:C',
    parent: urn(`pulumi:pulumi:Stack::${root}`),
    dependencies: [urn('t:m:R::d'), foreign],
    propertyDependencies: { p: [urn('t:m:R::d')] },
    provider: `${urn('pulumi:providers:t::default')}::0123`,
    deletedWith: urn('t:m:R::w'),
    replaceWith: [urn('t:m:R::r')],
    viewOf: urn('t:m:R::v'),
    aliases: [urn('t:m:R::alias')],
    inputs: { deep: [{ ref: reference(urn('t:m:R::in')) }], text: old('t:m:R::text') },
    outputs: { ref: reference(urn('t:m:R::out')), other: reference(foreign) },
    unknown: { kept: true },
  };
  return {
    version: 3,
    features: [],
    deployment: {
      manifest: { version: 'v1' },
      secrets_providers: provider as never,
      resources: [resource],
      pending_operations: [{ resource, type: 'creating' }],
      snippets: [{ references: { a: urn('t:m:R::s') } }],
    },
  };
};
const provider = (project: string, stack: string) => ({
  type: 'service',
  state: { url: 'http://x', owner: 'acme', project, stack },
});

describe('renameDeployment', () => {
  it('rewrites every URN, the root stack name and the secrets provider, and nothing else', () => {
    const before = state(old, 'shop-dev', provider('shop', 'dev'));
    expect(atOnce(renameDeployment(before, from, to))).toEqual(
      state(now, 'store-prod', provider('store', 'prod')),
    );
  });

  it('goes back to the same state by the opposite rename', () => {
    const before = state(old, 'shop-dev', provider('shop', 'dev'));
    const there = atOnce(renameDeployment(before, from, to));
    expect(atOnce(renameDeployment(there, to, from))).toEqual({
      ...before,
      deployment: { ...before.deployment },
    });
  });

  it('leaves an empty state empty', () => {
    const empty = { version: 3, features: [], deployment: {} };
    expect(atOnce(renameDeployment(empty, from, to))).toEqual(empty);
  });
});

describe('renameUrn', () => {
  it.each([foreign, 'urn:pulumi:dev', 'text', '', 'urn:pulumi:qa::shop::t:m:R::x'])(
    'leaves %j alone',
    (text) => {
      expect(renameUrn(from, to)(text)).toBe(text);
    },
  );
});
