import type { RouterContext } from '@koa/router';
import type { Logger } from '../../domain/logger.js';

/** What the outer middleware knows of every request. */
export interface RequestState {
  requestId: string;
  /** Source address: the peer, or the last untrusted hop when the peer is a trusted proxy. */
  source: string;
  /** True when the request comes from a trusted proxy itself (no forwarded address): no per-source limits. */
  sourceIsProxy: boolean;
  log: Logger;
  /** Why the request was refused, for the log line. */
  refusal?: string;
  /** Extra fields of the request's log line, e.g. operatorCn, machineId. */
  logFields?: Record<string, unknown>;
}

export type Ctx = RouterContext<RequestState>;
