import type { Knex } from 'knex';

/**
 * Runs `send` for a job that is not in the dead-letter queue yet, and remembers the message id that it returns.
 * The job's row is locked meanwhile: two callers, one message.
 */
export const deadLetterOnce = (db: Knex, jobId: string, send: () => Promise<string>): Promise<void> =>
  db.transaction(async (trx) => {
    const rows = trx<{ job_id: string; message_id: string | null }>('vending_dead_letters');
    await rows.clone().insert({ job_id: jobId }).onConflict('job_id').ignore();
    const row = await rows.clone().first('message_id').where({ job_id: jobId }).forUpdate();
    if (typeof row?.message_id !== 'string')
      await rows
        .clone()
        .where({ job_id: jobId })
        .update({ message_id: await send() });
  });

/** Forgets dead letters: of one job that is queued again, or all when the queue was cleared. */
export const forgetDeadLetters = async (db: Knex, jobId?: string): Promise<void> => {
  const rows = db('vending_dead_letters');
  if (jobId !== undefined) void rows.where({ job_id: jobId });
  await rows.delete();
};
