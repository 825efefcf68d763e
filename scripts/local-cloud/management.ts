import type Router from '@koa/router';
import type { RouterContext } from '@koa/router';
import type { LocalIdentity } from './identity.js';
import { checkBudget, etagOf } from './management-budget.js';
import { checkRoleAssignment } from './management-roles.js';
import { ArmFault } from './model.js';
import type { LocalSubscription } from './model.js';
import type { Store } from './store.js';

const AUTHORIZATION = '/providers/Microsoft.Authorization';

interface ManagementOptions {
  readonly store: Store;
  readonly identity: LocalIdentity;
  readonly tenantId: string;
}

/** The part of the management API that vending uses, with its wire shapes, api-versions and refusals. */
export const mountManagement = (router: Router, { store, identity, tenantId }: ManagementOptions): void => {
  const guarded =
    (versions: readonly string[], handle: (ctx: RouterContext) => void) => async (ctx: RouterContext) => {
      if (!(await identity.accepts(ctx.get('Authorization')))) {
        ctx.set('WWW-Authenticate', `Bearer authorization_uri="https://localhost/${tenantId}"`);
        throw new ArmFault(401, 'InvalidAuthenticationToken', 'The access token is invalid.');
      }
      checkApiVersion(ctx.query['api-version'], versions);
      ctx.set('x-ms-request-id', crypto.randomUUID());
      handle(ctx);
    };
  const subscriptionOf = (ctx: RouterContext): LocalSubscription => {
    const id = ctx.params['subscription'] ?? '';
    const found = store.get<LocalSubscription>('subscriptions', id.toLowerCase());
    if (found === undefined) {
      throw new ArmFault(404, 'SubscriptionNotFound', `The subscription '${id}' could not be found.`);
    }
    return found;
  };
  const writable = (ctx: RouterContext): LocalSubscription => {
    const found = subscriptionOf(ctx);
    if (found.writableAt <= Date.now()) return found;
    throw new ArmFault(401, 'RBACAccessDenied', 'The client does not have authorization to perform action.');
  };

  router.get(
    '/subscriptions/:subscription',
    guarded(['2016-06-01', '2022-12-01'], (ctx) => {
      ctx.body = presentSubscription(
        subscriptionOf(ctx),
        tenantId,
        ctx.query['api-version'] !== '2016-06-01',
      );
    }),
  );
  router.put(
    '/providers/Microsoft.Management/managementGroups/:group/subscriptions/:subscription',
    guarded(['2021-04-01', '2023-04-01'], (ctx) => {
      const group = ctx.params['group'] ?? '';
      const found = subscriptionOf(ctx);
      if (store.get('groups', group.toLowerCase()) === undefined) {
        throw new ArmFault(404, 'NotFound', `The management group '${group}' cannot be found.`);
      }
      if (found.group !== group) store.put('subscriptions', found.id.toLowerCase(), { ...found, group });
      ctx.body = presentMembership(found, group, tenantId);
    }),
  );
  router.put(
    `/subscriptions/:subscription${AUTHORIZATION}/roleAssignments/:name`,
    guarded(['2022-04-01'], (ctx) => {
      const { id: subscription } = writable(ctx);
      const { assignment, existed } = checkRoleAssignment(
        store,
        { subscription, name: ctx.params['name'] ?? '', tenantId },
        ctx.request.body,
      );
      if (!existed) store.put('roleAssignments', assignment.id.toLowerCase(), assignment);
      ctx.status = existed ? 200 : 201;
      ctx.body = assignment;
    }),
  );
  router.put(
    `/subscriptions/:subscription${AUTHORIZATION}/policyAssignments/:name`,
    guarded(['2024-05-01'], (ctx) => {
      const { id: subscription } = writable(ctx);
      const name = ctx.params['name'] ?? '';
      const id = `/subscriptions/${subscription}${AUTHORIZATION}/policyAssignments/${name}`;
      const { properties } = ctx.request.body as { properties?: { policyDefinitionId?: string } };
      if (properties?.policyDefinitionId === undefined) {
        throw new ArmFault(400, 'InvalidRequestContent', 'The policy definition id is missing.');
      }
      const assignment = { id, name, type: 'Microsoft.Authorization/policyAssignments', properties };
      store.put('policyAssignments', id.toLowerCase(), assignment);
      ctx.status = 201;
      ctx.body = assignment;
    }),
  );
  const budgetId = (ctx: RouterContext, subscription: string) =>
    `/subscriptions/${subscription}/providers/Microsoft.Consumption/budgets/${ctx.params['name'] ?? ''}`;
  const budgets = '/subscriptions/:subscription/providers/Microsoft.Consumption/budgets/:name';
  router.get(
    budgets,
    guarded(['2021-10-01', '2023-05-01', '2024-08-01'], (ctx) => {
      const found = store.get('budgets', budgetId(ctx, writable(ctx).id).toLowerCase());
      if (found === undefined) throw new ArmFault(404, 'NotFound', 'Budget not found');
      ctx.body = found;
    }),
  );
  router.put(
    budgets,
    guarded(['2021-10-01', '2023-05-01', '2024-08-01'], (ctx) => {
      const id = budgetId(ctx, writable(ctx).id);
      const present = store.get<{ eTag: string }>('budgets', id.toLowerCase());
      const properties = checkBudget(ctx.request.body, present, new Date());
      const budget = {
        id,
        name: ctx.params['name'],
        type: 'Microsoft.Consumption/budgets',
        eTag: etagOf(properties),
        properties,
      };
      store.put('budgets', id.toLowerCase(), budget);
      ctx.status = present === undefined ? 201 : 200;
      ctx.body = budget;
    }),
  );
};

const checkApiVersion = (given: string | string[] | undefined, versions: readonly string[]): void => {
  if (typeof given !== 'string') {
    throw new ArmFault(400, 'MissingApiVersionParameter', 'The api-version query parameter is required.');
  }
  if (!versions.includes(given)) {
    throw new ArmFault(400, 'InvalidApiVersionParameter', `The api-version '${given}' is invalid.`);
  }
};

const presentSubscription = (found: LocalSubscription, tenantId: string, withTags: boolean): object => ({
  id: `/subscriptions/${found.id}`,
  authorizationSource: 'RoleBased',
  managedByTenants: [],
  subscriptionId: found.id,
  tenantId,
  displayName: found.displayName,
  state: 'Enabled',
  subscriptionPolicies: {
    locationPlacementId: 'Public_2014-09-01',
    quotaId: 'EnterpriseAgreement_2014-09-01',
    spendingLimit: 'Off',
  },
  ...(withTags && Object.keys(found.tags).length > 0 ? { tags: found.tags } : {}),
});

const presentMembership = (found: LocalSubscription, group: string, tenantId: string): object => ({
  id: `/providers/Microsoft.Management/managementGroups/${group}/subscriptions/${found.id}`,
  name: found.id,
  type: 'Microsoft.Management/managementGroups/subscriptions',
  properties: {
    displayName: found.displayName,
    parent: { id: `/providers/Microsoft.Management/managementGroups/${group}` },
    state: 'Active',
    tenant: tenantId,
  },
});
