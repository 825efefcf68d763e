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

/**
 * Carries out outbox rows without touching the database, e.g. starts workflows: gets all rows of its topic in the
 * batch, answers with one promise a row.
 */
export type OutboxSender = (rows: readonly OutboxRow[]) => readonly Promise<void>[];

interface RelayOptions {
  readonly db: Knex;
  readonly databaseUrl: string;
  readonly log: Logger;
  readonly handlers: Readonly<Record<string, OutboxHandler>>;
  readonly senders?: Readonly<Record<string, OutboxSender>>;
  readonly sweepMs?: number;
}

export type Relay = WakeLoop;

/** Hands over outbox rows as soon as they are committed (NOTIFY), and sweeps for what a crash or an outage left. */
export const startRelay = (options: RelayOptions): Relay =>
  startWakeLoop({
    name: 'outbox relay',
    databaseUrl: options.databaseUrl,
    channels: ['outbox'],
    log: options.log,
    sweepMs: options.sweepMs ?? SWEEP_MS,
    work: async () => (await relayBatch(options)) > 0,
  });

const relayBatch = ({ db, handlers, senders = {}, log }: RelayOptions): Promise<number> =>
  db.transaction(async (trx) => {
    const rows = await takeFromOutbox(trx, [...Object.keys(handlers), ...Object.keys(senders)], BATCH);
    const done: number[] = [];
    const settle = async (row: OutboxRow, work: Promise<void> | undefined): Promise<void> => {
      try {
        await work;
        done.push(row.id);
      } catch (error) {
        const { topic, key, attempts } = row;
        log.warn({ err: error, topic, key, attempts }, 'outbox row postponed');
        await postponeInOutbox(trx, row, error instanceof Error ? error.message : String(error));
      }
    };
    for (const [topic, send] of Object.entries(senders)) {
      const due = rows.filter((row) => row.topic === topic);
      const sent = due.length === 0 ? [] : send(due);
      await Promise.all(due.map((row, index) => settle(row, sent[index])));
    }
    for (const row of rows) {
      const handle = handlers[row.topic];
      if (handle !== undefined)
        await settle(
          row,
          trx.transaction((step) => handle(row, step)),
        );
    }
    await removeFromOutbox(trx, done);
    return rows.length;
  });
