import Router from '@koa/router';
import type { RequireOperator } from '../../auth/actor.js';
import type { RequestState } from '../../http/state.js';

/** A part that can be switched off; a disabled one is absent from the list. */
export interface ExtensionInfo {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

export const extensionRoutes = (
  extensions: readonly ExtensionInfo[],
  operator: RequireOperator,
): Router<RequestState> => {
  const sorted = [...extensions].sort((a, b) => (a.name < b.name ? -1 : 1));
  return new Router<RequestState>().get('/extensions', operator, (ctx) => {
    ctx.body = { extensions: sorted, total: sorted.length };
  });
};
