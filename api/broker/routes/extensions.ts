import Router from '@koa/router';
import type { OperatorState, RequireOperator } from '../../auth/identity.js';

/** A part that can be switched off; a disabled one is absent from the list. */
export interface ExtensionInfo {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

export const extensionRoutes = (
  extensions: readonly ExtensionInfo[],
  operator: RequireOperator,
): Router<OperatorState> => {
  const sorted = [...extensions].sort((a, b) => (a.name < b.name ? -1 : 1));
  return new Router<OperatorState>().get('/extensions', operator, (ctx) => {
    ctx.body = { extensions: sorted, total: sorted.length };
  });
};
