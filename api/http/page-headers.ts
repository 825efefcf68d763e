import type { Context } from 'koa';

/** `X-Total-Count` and `Link` (RFC 8288) of a page of a list. */
export const setPageHeaders = (
  ctx: Pick<Context, 'set' | 'path' | 'query'>,
  { page, perPage, total }: { readonly page: number; readonly perPage: number; readonly total: number },
): void => {
  const last = Math.max(1, Math.ceil(total / perPage));
  const link = (target: number, rel: string): string => {
    const query = new URLSearchParams(ctx.query as Record<string, string>);
    query.set('page', String(target));
    query.set('per_page', String(perPage));
    return `<${ctx.path}?${query.toString()}>; rel="${rel}"`;
  };
  const links = [
    link(1, 'first'),
    ...(page > 1 ? [link(page - 1, 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next')] : []),
    link(last, 'last'),
  ];
  ctx.set('X-Total-Count', String(total));
  ctx.set('Link', links.join(', '));
};
