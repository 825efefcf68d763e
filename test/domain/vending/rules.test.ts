import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseVending, redactedView, vendingSettings } from '../../../domain/config/vending.js';
import {
  chooseManagementGroup,
  defaultMapping,
  enforcementMode,
  parseMapping,
} from '../../../domain/vending/environment.js';
import { decodeJob, encodeJob } from '../../../domain/vending/job.js';
import { isRetryableFault } from '../../../domain/vending/arm-errors.js';
import { builtInSteps, orderSteps } from '../../../domain/vending/steps.js';
import type { StepDefinition } from '../../../domain/vending/steps.js';
import { readTags } from '../../../domain/vending/tags.js';

const names = {
  environment: 'svc-environment',
  k8s: 'svc-k8s',
  budget: 'svc-budget',
  owner: 'svc-owner',
  ticket: 'svc-ticket',
};

describe('tags', () => {
  it('reads every tag, with keys in any case', () => {
    const tags = {
      'SVC-Environment': ' Production ',
      'svc-k8s': 'TRUE',
      'svc-budget': '500',
      'svc-owner': 'a@example.org',
      'svc-ticket': 'RITM1',
    };
    expect(readTags(tags, names)).toEqual({
      environment: 'production',
      k8s: true,
      budget: 500,
      owner: 'a@example.org',
      ticket: 'RITM1',
    });
  });

  it.each(['', 'abc', '-5', '1.5', '1e9', '99999999999', '0x10', '５００'])(
    'takes budget %j for none',
    (value) => {
      expect(readTags({ 'svc-budget': value }, names).budget).toBe(0);
    },
  );

  it.each(['nobody', 'a@b', 'a@b.c,d@e.f', 'a b@c.de', '<a@b.cd>'])('takes owner %j for none', (value) => {
    expect(readTags({ 'svc-owner': value }, names).owner).toBeUndefined();
  });

  it('never throws, whatever the tags are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), (tags) => readTags(tags, names).budget >= 0),
    );
  });
});

describe('management group', () => {
  const mapping = parseMapping(defaultMapping);

  it.each([
    ['production', 'Asked', 'Keystead-Production'],
    ['unheard-of', 'Asked', 'Keystead-Sandbox'],
    [undefined, 'Asked', 'Asked'],
    [undefined, '', 'Keystead-Sandbox'],
    [undefined, 'a/../b', 'Keystead-Sandbox'],
  ])('of environment %j and request %j is %s', (environment, requested, group) => {
    expect(chooseManagementGroup(mapping, environment, requested)).toBe(group);
  });

  it.each(['{', '[]', 'null', '"x"', '{"production":5}', '{"production":"a/b"}'])(
    'replaces the malformed map %s',
    (json) => {
      expect([...parseMapping(json)]).toEqual([['sandbox', 'Keystead-Sandbox']]);
    },
  );

  it('has a sandbox even when the map has none', () => {
    expect(chooseManagementGroup(parseMapping('{"production":"P"}'), 'x', '')).toBe('Keystead-Sandbox');
  });

  it('enforces in production only', () => {
    expect([enforcementMode('production'), enforcementMode('staging')]).toEqual(['Default', 'DoNotEnforce']);
  });
});

describe('jobs', () => {
  it('survive their base64 form', () => {
    const text = fc.string({ unit: 'binary', maxLength: 60 }).filter((value) => !value.includes('\u0000'));
    fc.assert(
      fc.property(text, fc.nat({ max: 1000 }), (subscriptionName, attempt) => {
        const job = {
          jobId: 'j-1',
          subscriptionId: 'sub-1',
          subscriptionName,
          managementGroupId: '',
          attempt,
        };
        expect(decodeJob(encodeJob(job), 'x')).toEqual(job);
      }),
    );
  });

  it('get an id and an attempt when the message has none', () => {
    expect(decodeJob(btoa('{"subscription_id":"s"}'), 'fallback')).toMatchObject({
      jobId: 'fallback',
      attempt: 1,
    });
  });

  it('are never made of anything else', () => {
    fc.assert(
      fc.property(fc.string(), (message) => expect(() => decodeJob(message, 'x')).toThrow('Invalid message')),
    );
  });
});

describe('steps', () => {
  const step = (name: string, after: string[], kind: StepDefinition['kind'] = 'step'): StepDefinition => ({
    name,
    after,
    kind,
    patience: 'service',
  });
  const order = (...extra: StepDefinition[]) =>
    orderSteps([...builtInSteps, ...extra]).map(({ name }) => name);

  it('run in the order of the specification', () => {
    expect(order()).toEqual([
      'STEP_MG',
      'STEP_INITIATIVE',
      'STEP_RBAC',
      'STEP_POLICY',
      'STEP_BUDGET',
      'STEP_NOTIFY',
    ]);
  });

  it('put an extension after what it depends on and before the notifications', () => {
    expect(order(step('STEP_TAGGING', ['STEP_RBAC']))).toEqual([
      'STEP_MG',
      'STEP_INITIATIVE',
      'STEP_RBAC',
      'STEP_POLICY',
      'STEP_BUDGET',
      'STEP_TAGGING',
      'STEP_NOTIFY',
    ]);
  });

  it.each([
    ['a circle', [step('A', ['B']), step('B', ['A'])], 'circle: STEP_NOTIFY'],
    ['an unknown dependency', [step('A', ['NOWHERE'])], 'NOWHERE'],
    ['a name twice', [step('STEP_MG', [])], 'twice'],
    ['a name that is none', [step('a b', [])], 'upper case'],
  ])('refuse %s before anything runs', (_name, extra, message) => {
    const ordering = () => orderSteps([...builtInSteps, ...extra]);
    expect(ordering).toThrow(message === 'circle: STEP_NOTIFY' ? 'circle' : message);
  });
});

describe('faults of the management API', () => {
  it.each([
    [429, 'TooManyRequests', true],
    [undefined, undefined, true],
    [403, 'AuthorizationFailed', true],
    [400, 'PrincipalNotFound', true],
    [404, 'SubscriptionNotFound', true],
    [403, 'Forbidden', false],
    [409, 'RoleAssignmentExists', false],
    [404, 'NotFound', false],
    [400, 'BadRequest', false],
  ])('%j %s is worth a retry: %j', (status, code, expected) => {
    expect(isRetryableFault({ status, code })).toBe(expected);
  });
});

describe('settings', () => {
  const parse = (env: Record<string, string>) =>
    parseVending({ VENDING_CLOUD_TENANT_ID: 't', ...env }, () => '');

  it.each([
    [{ VENDING_CLOUD_CLIENT_ID: 'x' }, 'VENDING_CLOUD_CLIENT_SECRET'],
    [{ VENDING_RETRY_STRATEGY: 'queue' }, 'VENDING_STORAGE_ACCOUNT_NAME'],
    [{ VENDING_API_IDP_TENANT_ID: 'x' }, 'VENDING_API_IDP_AUDIENCE'],
    [{ VENDING_WEBHOOK_URL: 'http://plain' }, 'VENDING_WEBHOOK_URL'],
    [{ VENDING_MOCK_MODE: 'ture' }, 'VENDING_MOCK_MODE'],
    [{ VENDING_DEFAULT_POLICIES: '{' }, 'VENDING_DEFAULT_POLICIES'],
    [{ VENDING_TICKET_INSTANCE: 'host/path' }, 'VENDING_TICKET_INSTANCE'],
  ])('stop the start: %j', (env, name) => {
    expect(() => parse(env)).toThrow(name);
  });

  it('know an empty ticket state from an unset one', () => {
    expect(parse({}).VENDING_TICKET_REQUIRE_STATE).toBe('approved');
    expect(parse({ VENDING_TICKET_REQUIRE_STATE: '' }).VENDING_TICKET_REQUIRE_STATE).toBe('');
  });

  it('are all in the redacted view, secrets hidden', () => {
    const secretNames = Object.entries(vendingSettings)
      .filter(([, { secret }]) => secret)
      .map(([name]) => name);
    const view = redactedView(parse(Object.fromEntries(secretNames.map((name) => [name, 'planted']))));
    expect(Object.keys(view)).toHaveLength(Object.keys(vendingSettings).length);
    expect(JSON.stringify(view)).not.toContain('planted');
  });
});
