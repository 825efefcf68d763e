import type Router from '@koa/router';
import type { LocalTicket } from './model.js';
import type { Store } from './store.js';

const FIELDS = ['sys_id', 'number', 'state', 'approval', 'short_description'] as const;

/** The Table API: encoded queries with their operators, field lists, limits, basic authentication. */
export const mountTickets = (router: Router, store: Store, user: string, password: string): void => {
  const expected = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  router.use('/api/now', async (ctx, next) => {
    if (ctx.get('Authorization') === expected) {
      await next();
      return;
    }
    ctx.status = 401;
    ctx.body = {
      error: { message: 'User Not Authenticated', detail: 'Required to provide Auth information' },
      status: 'failure',
    };
  });
  router.get('/api/now/table/:table', (ctx) => {
    const tickets = store.all<LocalTicket>('tickets').filter(({ table }) => table === ctx.params['table']);
    const found = tickets.filter(matches(String(ctx.query['sysparm_query'] ?? '')));
    const fields = String(ctx.query['sysparm_fields'] ?? FIELDS.join(',')).split(',');
    const limit = Number(ctx.query['sysparm_limit'] ?? 10_000);
    ctx.body = { result: found.slice(0, limit).map((ticket) => pick(ticket, fields)) };
  });
  router.patch('/api/now/table/:table/:id', (ctx) => {
    const found = store.all<LocalTicket>('tickets').find(({ sys_id }) => sys_id === ctx.params['id']);
    if (found === undefined) {
      ctx.status = 404;
      ctx.body = {
        error: { message: 'No Record found', detail: 'Record does not exist' },
        status: 'failure',
      };
      return;
    }
    const { work_notes: note, ...changed } = ctx.request.body as { work_notes?: string };
    const next = {
      ...found,
      ...changed,
      work_notes: note === undefined ? found.work_notes : [...found.work_notes, note],
    };
    store.put('tickets', found.number, next);
    ctx.body = { result: pick(next, [...FIELDS]) };
  });
};

/** `a=1^b=2` is and, `^OR` is or: the part that makes an unchecked ticket number dangerous. */
const matches =
  (query: string) =>
  (ticket: LocalTicket): boolean =>
    query.split('^OR').some((either) =>
      either.split('^').every((term) => {
        const [field, ...value] = term.split('=');
        return String(ticket[field as keyof LocalTicket]) === value.join('=');
      }),
    );

const pick = (ticket: LocalTicket, fields: readonly string[]): object =>
  Object.fromEntries(fields.map((field) => [field, ticket[field as keyof LocalTicket]]));
