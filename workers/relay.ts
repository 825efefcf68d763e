import type { Knex } from 'knex';
import type { OutboxRow } from '../db/outbox.js';
import { postponeInOutbox, removeFromOutbox, takeFromOutbox } from '../db/outbox.js';
import type { Logger } from '../domain/logger.js';
import { startWakeLoop } from './wake-loop.js';
import type { WakeLoop } from './wake-loop.js';

const BATCH = 50;
const SWEEP_MS = 2_000;

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

export type Relay = WakeLoop;

/** Hands over outbox rows as soon as they are committed (NOTIFY), and sweeps for what a crash or an outage left. */
export const startRelay = ({ db, databaseUrl, log, handlers, sweepMs = SWEEP_MS }: RelayOptions): Relay => {
  const topics = Object.keys(handlers);
  return startWakeLoop({
    name: 'outbox relay',
    databaseUrl,
    channels: ['outbox'],
    log,
    sweepMs,
    work: async () => (await relayBatch(db, handlers, topics, log)) > 0,
  });
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
