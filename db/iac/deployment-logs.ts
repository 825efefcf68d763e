import type { Knex } from 'knex';

const TABLE = 'extension_iac_state_deployment_logs';

/** Whole lines that came together. */
export interface LogPiece {
  /** From 1, without gaps. */
  readonly number: number;
  readonly createdAt: string;
  readonly text: string;
}

/** Written once: a piece that is there already stays. */
export const appendLogPiece = async (
  db: Knex,
  deploymentId: string,
  number: number,
  text: string,
): Promise<void> => {
  await db(TABLE)
    .insert({ deployment_id: deploymentId, number, text })
    .onConflict(['deployment_id', 'number'])
    .ignore();
};

export const readLogPieces = (
  db: Knex,
  deploymentId: string,
  after: number,
  limit: number,
): PromiseLike<readonly LogPiece[]> =>
  db(TABLE)
    .select({ number: 'number', createdAt: 'created_at', text: 'text' })
    .where({ deployment_id: deploymentId })
    .where('number', '>', after)
    .orderBy('number')
    .limit(limit);

export const lastLogPiece = async (db: Knex, deploymentId: string): Promise<number> => {
  const row: { last?: number | null } | undefined = await db(TABLE)
    .max({ last: 'number' })
    .where({ deployment_id: deploymentId })
    .first();
  return row?.last ?? 0;
};
