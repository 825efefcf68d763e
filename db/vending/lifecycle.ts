import type { Knex } from 'knex';
import type { LifecycleEvent } from '../../domain/vending/run.js';

/** Channel of the bus: `{"version":1,"run_id":…,"event":…}` after the commit of each event. */
export const LIFECYCLE = 'vending_lifecycle';

/** Stores the events of a run once each, and tells the bus, with the change that caused them. */
export const addLifecycleEvents = async (
  trx: Knex,
  runId: string,
  events: readonly LifecycleEvent[],
): Promise<void> => {
  await trx.raw(
    `with added as (
       insert into vending_lifecycle (run_id, event) select ?::uuid, unnest(?::text[])
       on conflict do nothing returning run_id, event
     )
     select pg_notify(?, json_build_object('version', 1, 'run_id', run_id, 'event', event)::text) from added`,
    [runId, [...events], LIFECYCLE],
  );
};

export const lifecycleOf = async (
  db: Knex,
  runId: string,
): Promise<readonly { event: LifecycleEvent; at: string }[]> =>
  db<{ event: LifecycleEvent; at: string; run_id: string }>('vending_lifecycle')
    .select('event', 'at')
    .where({ run_id: runId })
    .orderBy('at');
