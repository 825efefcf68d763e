import type Router from '@koa/router';
import { AppError } from '../../../domain/errors.js';
import { stackName } from '../../../domain/iac/names.js';
import type { StackName } from '../../../domain/iac/names.js';
import type { RequestState } from '../../http/state.js';
import { validate } from '../../http/validate.js';
import type { Auth } from '../auth.js';
import type { IacRouteDeps } from '../context.js';
import { callerOf, nameIn, readJson, STACK } from '../context.js';
import { continuationAfter, presentStack, presentStackSummary } from '../presenters.js';
import {
  ConfigRequest,
  CreateStackRequest,
  RemoveQuery,
  RenameRequest,
  StacksQuery,
  TagsRequest,
} from '../schemas/requests.js';

const PAGE = 100;

export const stackRoutes = (router: Router<RequestState>, { operator }: Auth, deps: IacRouteDeps): void => {
  const { useCases, org } = deps;
  const { stacks, bodies, changes } = useCases;

  router.get(
    '/api/user/stacks',
    operator(async (ctx) => {
      const query = validate(StacksQuery, ctx.query, 'query');
      const filter = { ...query, org: query.organization, after: nameAfter(query.continuationToken) };
      const found = await stacks.list(filter, PAGE + 1);
      const page = found.slice(0, PAGE);
      const last = page.at(-1);
      ctx.body = {
        stacks: page.map(presentStackSummary),
        ...(found.length > PAGE && last !== undefined ? { continuationToken: continuationAfter(last) } : {}),
      };
    }),
  );

  router.head(
    '/api/stacks/:org/:project',
    operator(async (ctx) => {
      const { org: inOrg = '', project = '' } = ctx.params as Record<string, string | undefined>;
      if (!(await stacks.projectExists(inOrg, project))) throw new AppError('not_found', 'no such project');
      ctx.status = 200;
    }),
  );

  router.post(
    '/api/stacks/:org/:project',
    operator(async (ctx) => {
      const bytes = await bodies.read(ctx.req);
      const members = await bodies.members(bytes);
      const { stackName: stack, tags, config } = validate(CreateStackRequest, await bodies.json(bytes));
      const { org: inOrg = '', project = '' } = ctx.params as Record<string, string | undefined>;
      const stateText = members.get('state');
      await stacks.create(stackName(inOrg, project, stack), {
        tags: tags ?? {},
        config,
        stateText: stateText === undefined || isNull(stateText) ? undefined : stateText,
      });
      ctx.body = { messages: [] };
    }),
  );

  router.get(
    STACK,
    operator(async (ctx) => {
      const { stack, running } = await stacks.get(nameIn(ctx));
      ctx.body = presentStack(stack, running);
    }),
  );

  router.delete(
    STACK,
    operator(async (ctx) => {
      await stacks.remove(nameIn(ctx), validate(RemoveQuery, ctx.query, 'query').force);
      ctx.status = 204;
    }),
  );

  router.post(
    `${STACK}/restore`,
    operator(async (ctx) => {
      await stacks.restore(nameIn(ctx));
      ctx.status = 204;
    }),
  );

  router.post(
    `${STACK}/rename`,
    operator(async (ctx) => {
      const from = nameIn(ctx);
      const { newName, newProject } = await readJson(useCases, ctx, RenameRequest);
      const to = stackName(from.org, newProject || from.project, newName || from.stack);
      await changes.rename(from, to, callerOf(ctx, org));
      ctx.status = 204;
    }),
  );

  router.patch(
    `${STACK}/tags`,
    operator(async (ctx) => {
      await stacks.setTags(nameIn(ctx), await readJson(useCases, ctx, TagsRequest));
      ctx.status = 204;
    }),
  );

  router.put(
    `${STACK}/config`,
    operator(async (ctx) => {
      const config = await readJson(useCases, ctx, ConfigRequest);
      await stacks.setConfig(nameIn(ctx), config);
      ctx.body = config;
    }),
  );
};

const isNull = (text: Uint8Array): boolean => text.length === 4 && text[0] === 0x6e;

const nameAfter = (token: string | undefined): StackName | undefined => {
  if (token === undefined || token === '') return undefined;
  const [org = '', project = '', stack = ''] = Buffer.from(token, 'base64url').toString('utf8').split('/');
  return stackName(org, project, stack);
};
