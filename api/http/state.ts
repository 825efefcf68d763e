import type { RouterContext } from '@koa/router';
import type { Logger } from '../../domain/logger.js';
import type { Operator } from '../auth/operator-identity.js';

/** What the outer middleware knows of every request. */
export interface RequestState {
  requestId: string;
  /** Source address: the peer, or the last untrusted hop when the peer is a trusted proxy. */
  source: string;
  /** True when the request comes from a trusted proxy itself (no forwarded address): no per-source limits. */
  sourceIsProxy: boolean;
  /** The peer is a trusted proxy: what its headers say of the client may be believed. */
  viaProxy: boolean;
  log: Logger;
  /** Who acts, on operator routes. */
  operator?: Operator;
  /** Why the request was refused, for the log line. */
  refusal?: string;
  /** Extra fields of the request's log line, e.g. operatorCn, machineId. */
  logFields?: Record<string, unknown>;
}

export type Ctx = RouterContext<RequestState>;
