import { createHash, timingSafeEqual } from 'node:crypto';
import type { StoredUpdate } from '../../db/iac/updates.js';
import { AppError } from '../../domain/errors.js';
import { showStackName } from '../../domain/iac/names.js';
import type { StackName } from '../../domain/iac/names.js';
import { createSecretCheck } from '../http/constant-equal.js';
import type { Ctx } from '../http/state.js';
import { uuidInPath } from '../http/validate.js';
import type { IacRouteDeps } from './context.js';
import { nameIn } from './context.js';

type Handler = (ctx: Ctx) => Promise<void> | void;
type Guarded = (ctx: Ctx) => Promise<void>;
type UpdateHandler = (ctx: Ctx, update: StoredUpdate, token: string) => Promise<void>;

const credentials = (ctx: Ctx, scheme: 'token' | 'update-token'): string => {
  const [given, value = ''] = ctx.get('Authorization').split(' ', 2);
  if (given?.toLowerCase() !== scheme || value === '') {
    throw new AppError('unauthenticated', `this path wants 'Authorization: ${scheme} <value>'`);
  }
  return value;
};

/** Wraps handlers by who may call them: the operator's token, or the token of the very update in the path. */
export const createAuth = ({ useCases, token }: Pick<IacRouteDeps, 'useCases' | 'token'>) => {
  const isOperator = createSecretCheck(token);

  /** The CLI of a running deployment: reads what an operator reads, and changes its own stack alone. */
  const asDeployment = async (ctx: Ctx, given: string, handler: Handler): Promise<void> => {
    const holder = await useCases.deployments.holderOf(given);
    if (holder === undefined) throw new AppError('unauthenticated', 'the access token is not valid');
    if (!mayCall(ctx, holder))
      throw new AppError('forbidden', 'the token of a deployment is good for its own stack');
    await handler(ctx);
    const { updateID } = (ctx.body ?? {}) as { readonly updateID?: unknown };
    if (ctx.method === 'POST' && typeof updateID === 'string')
      await useCases.deployments.link(holder.deploymentId, updateID);
  };

  const operator =
    (handler: Handler): Guarded =>
    async (ctx) => {
      const given = credentials(ctx, 'token');
      if (isOperator(given)) await handler(ctx);
      else await asDeployment(ctx, given, handler);
    };

  const updateToken =
    (handler: UpdateHandler): Guarded =>
    async (ctx) => {
      const given = credentials(ctx, 'update-token');
      const update = await useCases.updates.findForToken(updateIdIn(ctx));
      if (!isTokenOf(update, given) || showStackName(update) !== showStackName(nameIn(ctx))) {
        throw new AppError('unauthenticated', 'the update token is not valid for this update');
      }
      await handler(ctx, update, given);
    };

  return { operator, updateToken };
};
export type Auth = ReturnType<typeof createAuth>;

const mayCall = (ctx: Ctx, { org, project, stack }: StackName): boolean => {
  const own = `/api/stacks/${org}/${project}/${stack}/`;
  if (ctx.path.startsWith(own)) return !ctx.path.startsWith(`${own}deployments`);
  return ctx.method === 'GET' || ctx.method === 'HEAD' || /\/(batch-)?decrypt$/.test(ctx.path);
};

export const updateIdIn = (ctx: Ctx): string =>
  uuidInPath((ctx.params as Record<string, string | undefined>)['updateId'], 'update');

const noHash = Buffer.alloc(32);

const isTokenOf = (update: StoredUpdate | undefined, given: string): update is StoredUpdate => {
  const known = update?.tokenHash ?? undefined;
  const isEqual = timingSafeEqual(createHash('sha256').update(given).digest(), known ?? noHash);
  return isEqual && known !== undefined;
};
