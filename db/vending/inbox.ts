import type { Knex } from 'knex';
import type { RunStatus, Trigger } from '../../domain/vending/run.js';
import type { ProvisioningRequest } from '../../domain/vending/subscription.js';
import { prepared } from '../connect.js';

/** Somebody's wish for a run. `key` identifies the wish: the same key again is a redelivery. */
export interface InboxEntry extends ProvisioningRequest {
  readonly key: string;
  readonly source: string;
  readonly eventId: string;
  readonly subscriptionKey: string;
  readonly trigger: Trigger;
  readonly triggeredBy: string;
}

/** How far a wish has come; `undefined` status: no run has been made for it yet. */
export interface InboxState {
  readonly key: string;
  readonly runId: string | undefined;
  readonly status: RunStatus | undefined;
}

/**
 * Stores the entries in one statement. A redelivery changes nothing, unless its run failed: then it asks for another one.
 * Entries must have distinct keys.
 */
export const addToInbox = async (db: Knex, entries: readonly InboxEntry[]): Promise<void> => {
  const rows = entries.map((entry) => ({
    key: entry.key,
    source: entry.source,
    event_id: entry.eventId,
    subscription_key: entry.subscriptionKey,
    subscription_id: entry.subscriptionId,
    subscription_name: entry.subscriptionName,
    management_group_id: entry.managementGroupId,
    trigger: entry.trigger,
    triggered_by: entry.triggeredBy,
  }));
  await prepared(
    db,
    'vending_inbox_add',
    `with wanted as (
       select key, source, event_id, subscription_key, subscription_id, subscription_name,
         management_group_id, trigger, triggered_by
       from json_to_recordset(?::json) as entry (key text, source text, event_id text, subscription_key text,
         subscription_id text, subscription_name text, management_group_id text, trigger text, triggered_by text)
     ), again as (
       update vending_inbox set run_id = null from wanted, vending_runs run
       where vending_inbox.key = wanted.key and run.id = vending_inbox.run_id and run.status = 'failed'
     )
     insert into vending_inbox (key, source, event_id, subscription_key, subscription_id, subscription_name,
       management_group_id, trigger, triggered_by)
     select * from wanted order by key on conflict (key) do nothing`,
    [JSON.stringify(rows)],
  );
};

export const inboxStates = async (db: Knex, keys: readonly string[]): Promise<readonly InboxState[]> => {
  const rows = await prepared<{ key: string; run_id: string | null; status: RunStatus | null }>(
    db,
    'vending_inbox_states',
    `select inbox.key, inbox.run_id, run.status from vending_inbox inbox
     left join vending_runs run on run.id = inbox.run_id where inbox.key = any(?)`,
    [[...keys]],
  );
  return rows.map(({ key, run_id, status }) => ({
    key,
    runId: run_id ?? undefined,
    status: status ?? undefined,
  }));
};

const ADMISSION_LOCK = 7_301_201;

/**
 * Gives waiting entries their runs: the active one of the subscription, or a new one while fewer than `maxActive`
 * are active. One admission at a time, so the bound holds over all relays. Returns the number of entries served.
 */
export const admitFromInbox = (
  db: Knex,
  options: { readonly maxActive: number; readonly batch: number },
): Promise<number> =>
  db.transaction(async (trx) => {
    await trx.raw('select pg_advisory_xact_lock(?)', [ADMISSION_LOCK]);
    const result = await trx.raw<{ rowCount: number }>(
      `with active as (
         select id, subscription_key from vending_runs where status in ('pending', 'running')
       ), free as (
         select greatest(0, least(?::int, ?::int - (select count(*) from active))) as slots
       ), picked as (
         select * from vending_inbox where run_id is null order by position
         limit (select slots from free) for update
       ), made as (
         insert into vending_runs (subscription_key, subscription_id, subscription_name, management_group_id,
           trigger, triggered_by, event_id, workflow_id)
         select distinct on (subscription_key) subscription_key, subscription_id, subscription_name,
           management_group_id, trigger, triggered_by, event_id, 'provision:' || subscription_key
         from picked order by subscription_key, position
         on conflict (subscription_key) where status in ('pending', 'running') do nothing
         returning id, subscription_key
       )
       update vending_inbox inbox set run_id = run.id
       from picked, (select * from made union all select * from active) run
       where inbox.key = picked.key and run.subscription_key = picked.subscription_key`,
      [options.batch, options.maxActive],
    );
    return result.rowCount;
  });
