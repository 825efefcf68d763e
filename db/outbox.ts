import type { Knex } from 'knex';

/** What a change owes to the outside; written in the change's own transaction, carried out by the relay. */
export interface OutboxMessage {
  /** Which handler of the relay: `event`, or the name of a workflow to start or signal. */
  readonly topic: string;
  /** Business key, e.g. the machine id. */
  readonly key: string;
  /** Small plain JSON; never a secret. */
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface OutboxRow extends OutboxMessage {
  readonly id: number;
  readonly attempts: number;
  readonly createdAt: string;
}

export const addToOutbox = async (trx: Knex, messages: readonly OutboxMessage[]): Promise<void> => {
  if (messages.length === 0) return;
  await trx('outbox').insert(
    messages.map((m) => ({ topic: m.topic, key: m.key, payload: JSON.stringify(m.payload) })),
  );
};

/** Takes up to `limit` due rows of the given topics; they stay locked for this transaction, other relays skip them. */
export const takeFromOutbox = async (
  trx: Knex.Transaction,
  topics: readonly string[],
  limit: number,
): Promise<readonly OutboxRow[]> => {
  const result = await trx.raw<{ rows: OutboxRow[] }>(
    `select id, topic, key, payload, attempts, created_at as "createdAt" from outbox
     where available_at <= now() and topic = any(?) order by available_at, id limit ? for update skip locked`,
    [[...topics], limit],
  );
  return result.rows;
};

export const removeFromOutbox = (trx: Knex, ids: readonly number[]): PromiseLike<number> =>
  trx('outbox').whereIn('id', ids).delete();

/** Leaves a row for later; the pause doubles from one second up to five minutes. */
export const postponeInOutbox = (trx: Knex, row: OutboxRow, error: string): PromiseLike<number> =>
  trx('outbox')
    .where({ id: row.id })
    .update({
      attempts: row.attempts + 1,
      last_error: error.slice(0, 500),
      available_at: trx.raw(`now() + ? * interval '1 second'`, [
        Math.min(300, 2 ** Math.min(row.attempts, 9)),
      ]),
    });

/** Rows waiting, and the age of the oldest in seconds (0 when none). */
export const outboxLag = async (
  db: Knex,
): Promise<{ readonly waiting: number; readonly oldestSeconds: number }> => {
  const result = await db.raw<{ rows: { waiting: number; oldest: string | null }[] }>(
    'select count(*) as waiting, extract(epoch from now() - min(created_at)) as oldest from outbox',
  );
  const row = result.rows[0];
  return { waiting: row?.waiting ?? 0, oldestSeconds: Number(row?.oldest ?? 0) };
};
