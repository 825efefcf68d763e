import { createHash, randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { addToInbox, inboxStates } from '../../db/vending/inbox.js';
import type { InboxEntry, InboxState } from '../../db/vending/inbox.js';
import { listen } from '../../db/listen.js';
import { RUN_ENDED } from '../../db/vending/runs.js';
import type { Logger } from '../../domain/logger.js';
import type { Trigger } from '../../domain/vending/run.js';
import { subscriptionKey } from '../../domain/vending/subscription.js';
import type { ProvisioningRequest } from '../../domain/vending/subscription.js';

/** Longest time between two looks at a run, should a notification be lost. */
const LOOK_MS = 3_000;
const NUDGE_MS = 10;

/** Channel that wakes the relay. */
export const INBOX_FILLED = 'vending_inbox';

/** Names a wish for a run: the same source and event id again is a redelivery. */
export const inboxEntry = (
  request: ProvisioningRequest,
  origin: { source: string; eventId?: string; trigger: Trigger; triggeredBy: string },
): InboxEntry => {
  const { source, eventId = randomUUID(), trigger, triggeredBy } = origin;
  return {
    subscriptionId: request.subscriptionId,
    subscriptionName: request.subscriptionName,
    managementGroupId: request.managementGroupId,
    key: createHash('sha256').update(`${source}\n${eventId}`).digest('hex'),
    source,
    eventId,
    subscriptionKey: subscriptionKey(request.subscriptionId),
    trigger,
    triggeredBy,
  };
};

export interface Inbox {
  /** Returns once the entries are durable. Throws when the database is away. */
  readonly add: (entries: readonly InboxEntry[]) => Promise<void>;
  /** How far the entries came within `ms`; returns as soon as all their runs have ended. */
  readonly settled: (entries: readonly InboxEntry[], ms: number) => Promise<readonly InboxState[]>;
  readonly stop: () => Promise<void>;
}

/** The inbox as the gateway uses it: one insert to accept, and a wait on the run's end that costs no polling. */
export const openInbox = (db: Knex, databaseUrl: string, log: Logger): Inbox => {
  const waiting = new Map<string, Set<() => void>>();
  const wake = (key: string): void => {
    if (key === '') for (const wakers of waiting.values()) wakers.forEach((waker) => waker());
    else waiting.get(key)?.forEach((waker) => waker());
  };
  const listener = listen({ databaseUrl, channels: [RUN_ENDED], log, onNotification: wake });
  const nudge = throttled(NUDGE_MS, () =>
    db.raw('select pg_notify(?, ?)', [INBOX_FILLED, '']).then(undefined, () => undefined),
  );
  return {
    add: async (entries) => {
      const distinct = [...new Map(entries.map((entry) => [entry.key, entry])).values()];
      if (distinct.length === 0) return;
      await addToInbox(db, distinct);
      nudge();
    },
    settled: async (entries, ms) => {
      const deadline = Date.now() + ms;
      const keys = [...new Set(entries.map(({ key }) => key))];
      const subscriptions = new Set(entries.map((entry) => entry.subscriptionKey));
      let states: readonly InboxState[] = [];
      while (keys.length > 0) {
        const alarm = newAlarm(waiting, subscriptions);
        try {
          states = await inboxStates(db, keys).catch(() => states);
          const left = deadline - Date.now();
          if (left <= 0 || (states.length === keys.length && states.every(hasEnded))) break;
          await alarm.ring(Math.min(left, LOOK_MS));
        } finally {
          alarm.dispose();
        }
      }
      return states;
    },
    stop: listener.stop,
  };
};

const hasEnded = ({ status }: InboxState): boolean => status === 'succeeded' || status === 'failed';

/** Rings when one of the subscriptions is named, or after the time given. */
const newAlarm = (waiting: Map<string, Set<() => void>>, subscriptions: ReadonlySet<string>) => {
  let rang = false;
  let onRing = (): void => undefined;
  const waker = (): void => {
    rang = true;
    onRing();
  };
  for (const key of subscriptions) waiting.set(key, (waiting.get(key) ?? new Set()).add(waker));
  return {
    ring: (ms: number): Promise<void> =>
      new Promise((resolve) => {
        if (rang) {
          resolve();
          return;
        }
        const timer = setTimeout(resolve, ms);
        onRing = () => {
          clearTimeout(timer);
          resolve();
        };
      }),
    dispose: (): void => {
      for (const key of subscriptions) {
        const wakers = waiting.get(key);
        wakers?.delete(waker);
        if (wakers?.size === 0) waiting.delete(key);
      }
    },
  };
};

/** Runs `work` at most once every `ms`, and once more after the last call. */
const throttled = (ms: number, work: () => unknown): (() => void) => {
  let timer: NodeJS.Timeout | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      work();
    }, ms);
  };
};
