import Router from '@koa/router';
import type { SignedCheckpoint } from '../../../activities/broker/audit-checkpoint.js';
import type { AuditFilter } from '../../../db/broker/audit.js';
import type { AuditEntry, ChainVerdict, KnownHead } from '../../../domain/broker/audit.js';
import type { RequireOperator } from '../../auth/actor.js';
import type { RequestState } from '../../http/state.js';
import { setPageHeaders } from '../../http/page-headers.js';
import { validate } from '../../http/validate.js';
import { presentAuditEntry, presentCheckpoint, presentVerdict } from '../presenters/audit.js';
import { AuditQuery, VerifyQuery } from '../schemas/audit.js';

export interface AuditUseCases {
  readonly list: (
    filter: AuditFilter,
    page: { readonly page: number; readonly perPage: number },
  ) => Promise<{ readonly entries: readonly AuditEntry[]; readonly total: number }>;
  /** `known` is a head that the caller kept. */
  readonly verify: (known: KnownHead | undefined) => Promise<ChainVerdict>;
  readonly checkpoint: () => Promise<SignedCheckpoint>;
}

export const auditRoutes = (useCases: AuditUseCases, operator: RequireOperator): Router<RequestState> =>
  new Router<RequestState>({ prefix: '/audit' })
    .get('/', operator, async (ctx) => {
      const { filter, page } = validate(AuditQuery, ctx.query, 'query');
      const { entries, total } = await useCases.list(filter, page);
      setPageHeaders(ctx, { ...page, total });
      ctx.body = entries.map(presentAuditEntry);
    })
    .get('/verify', operator, async (ctx) => {
      ctx.body = presentVerdict(await useCases.verify(validate(VerifyQuery, ctx.query, 'query')));
    })
    .get('/checkpoint', operator, async (ctx) => {
      ctx.body = presentCheckpoint(await useCases.checkpoint());
    });
