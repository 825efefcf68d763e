import type { ActContext } from '../../domain/broker/audit.js';
import type { RequestState } from '../http/state.js';

/** Where an act of a node came from, for the audit log. */
export const nodeContext = (ctx: { readonly state: RequestState }): ActContext => ({
  requestId: ctx.state.requestId,
  sourceAddress: ctx.state.source,
  method: 'node',
});
