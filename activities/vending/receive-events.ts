import type { Knex } from 'knex';
import { inboxStates } from '../../db/vending/inbox.js';
import type { InboxEntry } from '../../db/vending/inbox.js';
import { AppError } from '../../domain/errors.js';
import type { SubscriptionCreated } from '../../domain/vending/event.js';
import { uuidV5 } from '../crypto/uuid-v5.js';
import { inboxEntry } from './inbox.js';
import type { Inbox } from './inbox.js';
import { JOB_SOURCE } from './jobs.js';
import type { Jobs } from './jobs.js';

const JOB_NAMESPACE = '0b8e5c1e-9c55-5d0f-8a36-6f2f1b7d4c90';
const RETRY_AFTER_SECONDS = 30;

interface ReceiveDeps {
  readonly db: Knex;
  readonly inbox: Inbox;
  readonly jobs: Jobs;
  readonly strategy: 'none' | 'dead_letter' | 'queue';
  readonly waitMs: number;
}

/**
 * Accepts subscription-created events. Returns when the sender may forget them: they are durable, and as far along as the
 * strategy asks. Throws `failed` or `unavailable` when the sender must come back (strategy `dead_letter`, storage away).
 */
export const createReceiveEvents = ({ db, inbox, jobs, strategy, waitMs }: ReceiveDeps) =>
  strategy === 'queue'
    ? (events: readonly SubscriptionCreated[]) => enqueueEvents(db, jobs, events)
    : async (events: readonly SubscriptionCreated[]): Promise<void> => {
        const entries = events.map(entryOf);
        await inbox.add(entries);
        const states = waitMs === 0 ? [] : await inbox.settled(entries, waitMs);
        if (strategy === 'none') return;
        if (states.some(({ status }) => status === 'failed')) {
          throw new AppError('failed', 'Provisioning failed; see /runs');
        }
        if (
          states.length < new Set(entries.map(({ key }) => key)).size ||
          states.some(({ status }) => status !== 'succeeded')
        ) {
          throw new AppError('unavailable', 'Provisioning is still running', {
            retryAfterSeconds: RETRY_AFTER_SECONDS,
          });
        }
      };

export type ReceiveEvents = ReturnType<typeof createReceiveEvents>;

const entryOf = (event: SubscriptionCreated): InboxEntry =>
  inboxEntry(event, {
    source: event.source,
    eventId: event.id,
    trigger: 'event',
    triggeredBy: 'event delivery',
  });

/** The job id follows from the event, so a redelivery is the same job; one that is done is not queued again. */
const enqueueEvents = async (db: Knex, jobs: Jobs, events: readonly SubscriptionCreated[]): Promise<void> => {
  const byJob = new Map(
    events.map((event) => [uuidV5(JOB_NAMESPACE, `${event.source}\n${event.id}`), event]),
  );
  const entries = [...byJob].map(([jobId, event]) =>
    inboxEntry(event, { source: JOB_SOURCE, eventId: jobId, trigger: 'job', triggeredBy: 'queue' }),
  );
  const known = await inboxStates(
    db,
    entries.map(({ key }) => key),
  );
  const settled = new Set(known.filter(({ status }) => status !== 'failed').map(({ key }) => key));
  for (const entry of entries) {
    if (!settled.has(entry.key)) await jobs.enqueue({ ...entry, jobId: entry.eventId, attempt: 1 });
  }
};
