import type { Knex } from 'knex';
import pg from 'pg';
import type { OutboxRow } from '../db/outbox.js';
import { postponeInOutbox, removeFromOutbox, takeFromOutbox } from '../db/outbox.js';
import type { Logger } from '../domain/logger.js';

const BATCH = 50;
const SWEEP_MS = 2_000;
const RECONNECT_MS = 1_000;

/**
 * Carries out one outbox row. It may run again after a crash, so what it does is idempotent: workflows have
 * deterministic ids. `trx` is the transaction that removes the row; throwing leaves the row for later.
 */
export type OutboxHandler = (row: OutboxRow, trx: Knex.Transaction) => Promise<void>;

interface RelayOptions {
  readonly db: Knex;
  readonly databaseUrl: string;
  readonly log: Logger;
  readonly handlers: Readonly<Record<string, OutboxHandler>>;
  readonly sweepMs?: number;
}

export interface Relay {
  /** Stops taking rows and waits for the batch in hand. */
  readonly stop: () => Promise<void>;
}

/** Hands over outbox rows as soon as they are committed (NOTIFY), and sweeps for what a crash or an outage left. */
export const startRelay = ({ db, databaseUrl, log, handlers, sweepMs = SWEEP_MS }: RelayOptions): Relay => {
  const topics = Object.keys(handlers);
  let stopping = false;
  let wake = (): void => undefined;
  let woken = false;
  const nudge = (): void => {
    woken = true;
    wake();
  };
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      if (woken) {
        resolve();
        return;
      }
      const timer = setTimeout(resolve, sweepMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  const loop = async (): Promise<void> => {
    while (!stopping) {
      woken = false;
      try {
        if ((await relayBatch(db, handlers, topics, log)) > 0) continue;
      } catch (error) {
        log.warn({ err: error }, 'outbox relay: the database did not answer, trying again');
      }
      await pause();
    }
  };

  const listener = listen(databaseUrl, nudge, log);
  const running = loop();
  return {
    stop: async () => {
      stopping = true;
      nudge();
      await running;
      await listener.stop();
    },
  };
};

const relayBatch = (
  db: Knex,
  handlers: RelayOptions['handlers'],
  topics: readonly string[],
  log: Logger,
): Promise<number> =>
  db.transaction(async (trx) => {
    const rows = await takeFromOutbox(trx, topics, BATCH);
    const done: number[] = [];
    for (const row of rows) {
      try {
        await trx.transaction(async (step) => handlers[row.topic]?.(row, step));
        done.push(row.id);
      } catch (error) {
        log.warn(
          { err: error, topic: row.topic, key: row.key, attempts: row.attempts },
          'outbox row postponed',
        );
        await postponeInOutbox(trx, row, error instanceof Error ? error.message : String(error));
      }
    }
    await removeFromOutbox(trx, done);
    return rows.length;
  });

const listen = (databaseUrl: string, nudge: () => void, log: Logger): { stop: () => Promise<void> } => {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const retry = (error: unknown): void => {
    client = undefined;
    if (stopped) return;
    log.debug({ err: error }, 'outbox listener lost its connection');
    timer = setTimeout(() => void connect(), RECONNECT_MS);
  };
  const connect = async (): Promise<void> => {
    const next = new pg.Client({ connectionString: databaseUrl, application_name: 'keystead-relay' });
    next.once('error', retry);
    next.on('notification', nudge);
    try {
      await next.connect();
      await next.query('listen outbox');
      client = next;
      nudge();
    } catch (error) {
      next.removeAllListeners('error').on('error', () => undefined);
      retry(error);
    }
  };
  void connect();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      client?.removeAllListeners('error').on('error', () => undefined);
      await client?.end().catch(() => undefined);
    },
  };
};
