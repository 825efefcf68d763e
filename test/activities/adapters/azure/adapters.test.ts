import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createBudgetWriter } from '../../../../activities/adapters/azure/budgets.js';
import { connectArm, trustedAuthorities } from '../../../../activities/adapters/azure/client.js';
import type { ArmAccess } from '../../../../activities/adapters/azure/client.js';
import { createGroupMover } from '../../../../activities/adapters/azure/management-groups.js';
import { createPolicyAssigner } from '../../../../activities/adapters/azure/policies.js';
import { createRoleAssigner } from '../../../../activities/adapters/azure/roles.js';
import { createSubscriptionReader } from '../../../../activities/adapters/azure/subscriptions.js';
import { createOutcomePublisher } from '../../../../activities/adapters/event-topic.js';
import { parseVending } from '../../../../domain/config/vending.js';
import { systemClock } from '../../../../domain/clock.js';
import { subscriptionKey } from '../../../../domain/vending/subscription.js';
import { testCloud } from '../../../support/local-cloud.js';
import type { TestCloud } from '../../../support/local-cloud.js';

const result = {
  subscription_id: 'sub-1',
  subscription_name: 'one',
  environment: 'sandbox',
  management_group: 'Keystead-Sandbox',
  initiative_id: 'i',
  rbac_roles: [],
  errors: [],
  success: true,
};

describe('adapters against the simulated management API', () => {
  let cloud: TestCloud;
  let arm: ArmAccess;
  const configOf = (extra: Record<string, string> = {}) =>
    parseVending({ ...cloud.settings, ...extra }, () => '');
  const newSubscription = async (id: string, extra: object = {}) => {
    await cloud.control('subscriptions', { subscription_id: id, announce: false, ...extra });
    return id;
  };
  beforeAll(async () => {
    cloud = await testCloud();
    arm = connectArm(configOf(), trustedAuthorities(cloud.caFile));
  });
  afterAll(() => cloud.stop());

  it('reads name and tags with the real wire shape', async () => {
    const id = await newSubscription('tags-1', { display_name: 'Shop', tags: { 'svc-budget': '100' } });
    expect(await createSubscriptionReader(arm)(id)).toEqual({
      displayName: 'Shop',
      tags: { 'svc-budget': '100' },
    });
  });

  it('tells an unreadable subscription from one without tags', async () => {
    const read = createSubscriptionReader(arm);
    await newSubscription('tags-2');
    expect((await read('tags-2')).tags).toEqual({});
    await expect(read('nowhere')).rejects.toMatchObject({
      kind: 'unavailable',
      code: 'SubscriptionNotFound',
    });
    await cloud.control('faults', {
      method: 'GET',
      path: '/subscriptions/tags-2',
      status: 403,
      code: 'Forbidden',
    });
    await expect(read('tags-2')).rejects.toMatchObject({ kind: 'forbidden' });
    await cloud.control('faults', {
      method: 'GET',
      path: '/subscriptions/tags-2',
      status: 429,
      code: 'TooManyRequests',
      retry_after_seconds: 7,
    });
    await expect(read('tags-2')).rejects.toMatchObject({ kind: 'unavailable', retryAfterSeconds: 7 });
    await cloud.control('faults', { method: 'GET', path: '/subscriptions/tags-2', status: 0 });
    await expect(read('tags-2')).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('moves to a group, and says when there is none', async () => {
    await newSubscription('move-1');
    const move = createGroupMover(arm);
    await move('Keystead-Production', 'move-1');
    await move('Keystead-Production', 'move-1');
    expect(cloud.store.get('subscriptions', 'move-1')).toMatchObject({ group: 'Keystead-Production' });
    await expect(move('Nowhere', 'move-1')).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('assigns a role once, whatever its name was before', async () => {
    await newSubscription('roles-1');
    const assign = createRoleAssigner(arm);
    const grant = {
      role: 'Contributor',
      principalId: '22222222-2222-4222-8222-222222222222',
      principalType: 'Group',
    } as const;
    const id = await assign('roles-1', grant);
    expect(await assign('roles-1', grant)).toBe(id);
    const made = cloud.store
      .all<{ id: string }>('roleAssignments')
      .filter(({ id }) => id.includes('roles-1'));
    expect(made).toHaveLength(1);
    await cloud.control('faults', { path: 'roles-1', status: 409, code: 'RoleAssignmentExists' });
    expect(await assign('roles-1', grant)).toBe(id);
    await expect(assign('roles-1', { ...grant, principalType: 'ServicePrincipal' })).rejects.toMatchObject({
      kind: 'invalid',
      code: 'UnmatchedPrincipalType',
    });
  });

  it.each([
    ['RBACAccessDenied', 401],
    ['PrincipalNotFound', 400],
    ['AuthorizationFailed', 403],
    ['AnotherOperationInProgress', 409],
    ['InternalServerError', 500],
  ])('calls %s worth a retry', async (code, status) => {
    await newSubscription(`retry-${status}`);
    await cloud.control('faults', { path: `retry-${status}`, status, code });
    const assign = createRoleAssigner(arm)(`retry-${status}`, {
      role: 'Owner',
      principalId: '11111111-1111-4111-8111-111111111111',
      principalType: 'ServicePrincipal',
    });
    await expect(assign).rejects.toMatchObject({ kind: 'unavailable', code });
  });

  it('assigns a policy in its enforcement mode, and again', async () => {
    await newSubscription('policy-1');
    const assign = createPolicyAssigner(arm);
    const policy = {
      name: 'tags',
      definitionId: '/providers/Microsoft.Authorization/policyDefinitions/x',
      displayName: 'Tags',
    };
    await assign('policy-1', policy, 'DoNotEnforce');
    await assign('policy-1', policy, 'Default');
    const made = cloud.store
      .all<{ id: string }>('policyAssignments')
      .filter(({ id }) => id.includes('policy-1'));
    expect(made).toMatchObject([{ properties: { enforcementMode: 'Default', displayName: 'Tags' } }]);
  });

  it('writes a cost budget with both alerts, and keeps its period later', async () => {
    await newSubscription('budget-1');
    let now = new Date();
    const write = createBudgetWriter(arm, { now: () => now });
    await write('budget-1', { amount: 100, contactEmail: 'a@example.org' });
    const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)).toISOString();
    now = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 5));
    await write('budget-1', { amount: 200, contactEmail: undefined });
    const [budget, ...more] = cloud.store
      .all<{ id: string; properties: { timePeriod: { startDate: string }; notifications: object } }>(
        'budgets',
      )
      .filter(({ id }) => id.includes('budget-1'));
    expect(more).toEqual([]);
    expect(budget!.properties).toMatchObject({ category: 'Cost', amount: 200, timeGrain: 'Monthly' });
    expect(budget!.properties.timePeriod.startDate).toBe(first);
    expect(budget!.properties['notifications']).toMatchObject({
      Actual_80Percent: { threshold: 80, contactRoles: ['Owner'], contactEmails: [] },
      Actual_100Percent: { threshold: 100, operator: 'GreaterThan' },
    });
  });

  it('says that a wrong client secret will not do', async () => {
    const config = configOf({ VENDING_CLOUD_CLIENT_SECRET: 'wrong' });
    const wrong = connectArm(config, trustedAuthorities(cloud.caFile));
    await expect(createSubscriptionReader(wrong)('x')).rejects.toMatchObject({
      kind: 'forbidden',
      code: 'invalid_client',
    });
  });

  it.each([
    ['a key, as Event Grid event', {}, 'eventType'],
    [
      'a token, as CloudEvent',
      { VENDING_EVENT_TOPIC_SCHEMA: 'cloud_events', VENDING_EVENT_TOPIC_KEY: '' },
      'type',
    ],
  ])('publishes with %s', async (_name, extra, field) => {
    const publish = createOutcomePublisher(
      configOf(extra),
      arm.credential,
      trustedAuthorities(cloud.caFile),
    )!;
    const id = `run-${field}`;
    await publish(id, systemClock.now(), result);
    await publish(id, systemClock.now(), result);
    const published = cloud.store.get<{ event: Record<string, unknown>; deliveries: number }>(
      'published',
      id,
    )!;
    expect(published.deliveries).toBe(2);
    expect(published.event[field]).toBe('SVC.SubscriptionVending.SubscriptionProvisioned');
    expect(published.event['subject']).toBe('/subscriptions/sub-1');
    expect(published.event['data']).toEqual(result);
  });
});

describe('subscriptionKey', () => {
  it('knows a GUID in any case as one subscription', () => {
    expect(subscriptionKey('7D1F3C52-9F0E-4B52-8A7E-3F0C5D2B9E10')).toBe(
      '7d1f3c52-9f0e-4b52-8a7e-3f0c5d2b9e10',
    );
    expect(subscriptionKey('Sub-A')).toBe('Sub-A');
    expect(() => subscriptionKey('a/../b')).toThrow('not a subscription id');
  });
});
