import type { Middleware } from 'koa';
import type { Actor } from '../../domain/broker/actor.js';
import type { RequestState } from '../http/state.js';
import { operatorOf } from './operator.js';

/** Lets operators pass and answers everybody else. */
export type RequireOperator = Middleware<RequestState>;

/** The operator of a request as use cases and the audit log take them. */
export const actorOf = (ctx: { readonly state: RequestState }): Actor => {
  const { operatorCn, identity, method } = operatorOf(ctx);
  return {
    operatorCn,
    identity,
    context: { requestId: ctx.state.requestId, sourceAddress: ctx.state.source, method },
  };
};
