import type { Knex } from 'knex';
import { prepared } from '../connect.js';

/** Journal entries and engine events: JSON text as sent, numbered by the CLI, each number once an update. */
export interface NumberedText {
  readonly number: number;
  readonly text: string;
}

/**
 * Stores entries once each, but only while the update runs: its row is locked in share mode, so that the fold at its
 * end sees every entry that was acknowledged. False when the update does not run (any more).
 */
export const appendJournal = async (
  db: Knex,
  updateId: string,
  now: Date,
  entries: readonly NumberedText[],
): Promise<boolean> => {
  const rows = await prepared<{ open: boolean }>(
    db,
    'iac-journal-append',
    `with running as (
       select id from extension_iac_state_updates
        where id = ? and status = 'running' and not dry_run and lease_expires_at > ? for share),
     added as (
       insert into extension_iac_state_journal (update_id, sequence_id, entry)
       select running.id, e.sequence_id, e.entry
         from running, unnest(?::bigint[], ?::text[]) as e (sequence_id, entry)
       on conflict do nothing)
     select exists (select 1 from running) as open`,
    [updateId, now, entries.map(({ number }) => number), entries.map(({ text }) => text)],
  );
  return rows[0]?.open === true;
};

/** Up to `limit` entries after number `after`, in order. */
export const readJournal = async (
  db: Knex,
  updateId: string,
  after: number,
  limit: number,
): Promise<readonly NumberedText[]> =>
  db('extension_iac_state_journal')
    .select({ number: 'sequence_id', text: 'entry' })
    .where({ update_id: updateId })
    .where('sequence_id', '>', after)
    .orderBy('sequence_id')
    .limit(limit);

export const deleteJournal = (trx: Knex, updateId: string): PromiseLike<number> =>
  trx('extension_iac_state_journal').where({ update_id: updateId }).delete();

export const appendEvents = async (
  db: Knex,
  updateId: string,
  events: readonly NumberedText[],
): Promise<void> => {
  await prepared(
    db,
    'iac-events-append',
    `insert into extension_iac_state_events (update_id, sequence, event)
     select ?, e.sequence, e.event from unnest(?::integer[], ?::text[]) as e (sequence, event)
     on conflict do nothing`,
    [updateId, events.map(({ number }) => number), events.map(({ text }) => text)],
  );
};

export const readEvents = async (
  db: Knex,
  updateId: string,
  after: number,
  limit: number,
): Promise<readonly NumberedText[]> =>
  db('extension_iac_state_events')
    .select({ number: 'sequence', text: 'event' })
    .where({ update_id: updateId })
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(limit);
