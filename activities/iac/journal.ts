import type { NumberedText } from '../../db/iac/journal.js';
import { appendEvents, appendJournal, readEvents } from '../../db/iac/journal.js';
import { findUpdate, saveResourceChanges } from '../../db/iac/updates.js';
import { AppError } from '../../domain/errors.js';
import type { EngineEvent } from '../../domain/iac/events.js';
import { describeEvent, resourceChanges } from '../../domain/iac/events.js';
import { checkWritable } from '../../domain/iac/update.js';
import type { IacDeps } from './deps.js';

export interface EventFilter {
  readonly type?: string | undefined;
  readonly urn?: string | undefined;
  /** Number of the last event that the caller has. */
  readonly after: number;
}

export interface EventPage {
  /** JSON texts as the CLI sent them. */
  readonly events: readonly string[];
  /** `undefined` = no more will come. */
  readonly next: number | undefined;
}

const EVENT_PAGE = 500;

export const createJournalCommands = ({ db, clock }: IacDeps) => {
  /** Durable when it returns; the same entry again changes nothing. Throws `forbidden` once the update has ended. */
  const append = async (updateId: string, entries: readonly NumberedText[]): Promise<void> => {
    if (await appendJournal(db, updateId, clock.now(), entries)) return;
    const update = await findUpdate(db, updateId);
    if (update === undefined) throw new AppError('not_found', 'no such update');
    checkWritable(update, clock.now());
    throw new AppError('forbidden', 'this update is not running any more');
  };

  const addEvents = async (
    updateId: string,
    events: readonly EngineEvent[],
    texts: readonly NumberedText[],
  ): Promise<void> => {
    await appendEvents(db, updateId, texts);
    const changes = resourceChanges(events);
    if (changes !== undefined) await saveResourceChanges(db, updateId, changes);
  };

  const events = async (updateId: string, isOver: boolean, filter: EventFilter): Promise<EventPage> => {
    const page = await readEvents(db, updateId, filter.after, EVENT_PAGE);
    const wanted = page.filter(({ text }) => matches(text, filter)).map(({ text }) => text);
    const last = page.at(-1)?.number ?? filter.after;
    return { events: wanted, next: page.length < EVENT_PAGE && isOver ? undefined : last };
  };

  return { append, addEvents, events };
};

const matches = (text: string, { type, urn }: EventFilter): boolean => {
  if (type === undefined && urn === undefined) return true;
  const event = describeEvent(JSON.parse(text) as EngineEvent);
  return (type === undefined || event.type === type) && (urn === undefined || event.urn === urn);
};
