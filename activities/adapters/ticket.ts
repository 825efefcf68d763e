import { z } from 'zod';
import { AppError } from '../../domain/errors.js';
import type { GateOutcome } from '../../domain/vending/plan.js';
import type { ProvisioningResult } from '../../domain/vending/run.js';
import { isTicketNumber } from '../../domain/vending/tags.js';
import type { Outbound } from './http.js';
import { expectSuccess, jsonOf } from './json-call.js';

/** Access to one table of a ticket system (Table API, basic authentication). */
export interface TicketAccess {
  readonly instance: string;
  readonly user: string;
  readonly password: string;
  readonly table: string;
  readonly timeoutMs: number;
  /** Approval or state that passes the gate; empty asks for existence only. */
  readonly requireState: string;
  readonly successState: string;
  readonly failureState: string;
}

const WHO = 'ticket system';
const MAX_NOTE_CHARS = 4000;
const field = z.union([z.string(), z.number()]).transform(String);
const Records = z.object({
  result: z.array(
    z.object({
      number: z.string(),
      sys_id: z.string().default(''),
      state: field.default(''),
      approval: field.default(''),
      short_description: z.string().default(''),
    }),
  ),
});
type Ticket = z.infer<typeof Records>['result'][number];

export const createTickets = (outbound: Outbound, access: TicketAccess) => {
  const base = `https://${access.instance}/api/now/table/${access.table}`;
  const headers = {
    accept: 'application/json',
    authorization: `Basic ${Buffer.from(`${access.user}:${access.password}`).toString('base64')}`,
  };

  /** The query language has operators inside the value, so only a ticket number may enter, and the answer must be that ticket. */
  const find = async (number: string, fields: string): Promise<Ticket | undefined> => {
    if (!isTicketNumber(number)) return undefined;
    const query = new URLSearchParams({
      sysparm_query: `number=${number}`,
      sysparm_fields: fields,
      sysparm_limit: '1',
    });
    const answer = await outbound.request(`${base}?${query.toString()}`, {
      headers,
      timeoutMs: access.timeoutMs,
    });
    if (answer.status === 404) return undefined;
    expectSuccess(WHO, answer);
    const records = Records.safeParse(jsonOf(WHO, answer));
    if (!records.success) throw new AppError('unavailable', `${WHO} sent an unexpected answer`);
    return records.data.result.find((record) => record.number === number);
  };

  return {
    /** Judges a ticket. Throws when the ticket system gives no verdict (`unavailable` may pass later). */
    check: async (number: string): Promise<GateOutcome> => {
      if (number === '') return { passed: false, error: 'a ticket is required and none is given' };
      const ticket = await find(number, 'number,state,approval,short_description');
      return judge(number.slice(0, 64), ticket, access.requireState);
    },

    /** Writes the outcome into the ticket. Throws when it is not there or refuses. */
    report: async (number: string, result: ProvisioningResult): Promise<void> => {
      const ticket = await find(number, 'sys_id,number');
      if (ticket === undefined || !isTicketNumber(ticket.sys_id)) {
        throw new AppError('not_found', `ticket ${number.slice(0, 64)} was not found`);
      }
      const state = result.success ? access.successState : access.failureState;
      const answer = await outbound.request(`${base}/${ticket.sys_id}`, {
        method: 'PATCH',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ work_notes: workNotes(result), ...(state === '' ? {} : { state }) }),
        timeoutMs: access.timeoutMs,
      });
      expectSuccess(WHO, answer);
    },
  };
};

export type Tickets = ReturnType<typeof createTickets>;

const judge = (number: string, ticket: Ticket | undefined, required: string): GateOutcome => {
  if (ticket === undefined) return { passed: false, error: `ticket ${number} was not found` };
  if (required !== '' && ticket.approval !== required && ticket.state !== required) {
    const states = `approval '${ticket.approval}', state '${ticket.state}'`;
    return { passed: false, error: `ticket ${number} is not ${required}: ${states}` };
  }
  return {
    passed: true,
    note: `[ticket gate] ${number} passed: ${ticket.approval || ticket.state} ${ticket.short_description}`.trim(),
  };
};

const workNotes = (result: ProvisioningResult): string => {
  const who = `${result.subscription_name} (${result.subscription_id})`;
  const note = result.success
    ? `Subscription ${who} was provisioned in management group ${result.management_group}.`
    : `Provisioning of subscription ${who} failed:\n${result.errors.join('\n')}`;
  return note.slice(0, MAX_NOTE_CHARS);
};
