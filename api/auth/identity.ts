import type { RouterContext } from '@koa/router';
import type { Middleware } from 'koa';
import type { Actor } from '../../domain/broker/actor.js';
import type { RequestState } from '../http/state.js';

/** An operator whom one of the three methods let in. */
export interface Operator {
  /** The name in the audit log. */
  readonly operatorCn: string;
  /** `iss`+`sub`, `cert:<cn>` or `SYSTEM`: what makes two votes distinct. */
  readonly identity: string;
  readonly method: 'jwt' | 'certificate' | 'break_glass';
}

export interface OperatorState extends RequestState {
  operator: Operator;
}

export type OperatorCtx = RouterContext<OperatorState>;

/** Lets operators pass and puts them in `ctx.state.operator`; answers everybody else. */
export type RequireOperator = Middleware<OperatorState>;

export const actorOf = (ctx: { readonly state: OperatorState }): Actor => ({
  operatorCn: ctx.state.operator.operatorCn,
  identity: ctx.state.operator.identity,
  context: {
    requestId: ctx.state.requestId,
    sourceAddress: ctx.state.source,
    method: ctx.state.operator.method,
  },
});
