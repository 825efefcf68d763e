import type { Knex } from 'knex';
import type { ApprovalOutcome, OpenVote, Vote } from '../../domain/broker/approval.js';

/** A first vote as operators see it. */
export interface ApprovalRequest extends Omit<OpenVote, 'voteId'> {
  readonly id: number;
  readonly createdAt: string;
  readonly consumed: boolean;
}

const columns = {
  id: 'id',
  machineId: 'machine_id',
  operatorCn: 'operator_cn',
  identity: 'identity',
  role: 'role',
  hostname: 'hostname',
  assignedIp: 'assigned_ip',
  createdAt: 'created_at',
  expiresAt: 'expires_at',
  consumed: 'consumed',
} as const satisfies Record<keyof ApprovalRequest, string>;

/** The vote that waits for a second one, judged by the database's clock. */
export const findOpenVote = async (db: Knex, machineId: string): Promise<ApprovalRequest | undefined> =>
  (await db('approval_requests')
    .first(columns)
    .where({ machine_id: machineId })
    .whereNull('closed_at')
    .andWhereRaw('expires_at > now()')) as ApprovalRequest | undefined;

/** Holds the machine's row until the transaction ends: votes on one machine come one after another. */
export const lockMachine = async (trx: Knex.Transaction, machineId: string): Promise<string | undefined> => {
  const row = (await trx('machines').first('status').where({ machine_id: machineId }).forUpdate()) as
    { status: string } | undefined;
  return row?.status;
};

/** Opens the window of a machine whose row is locked; what was left of an earlier, lapsed window is closed. */
export const openVote = async (trx: Knex.Transaction, vote: Vote, windowSeconds: number): Promise<string> => {
  const { machineId, role } = vote;
  await trx('approval_requests')
    .where({ machine_id: machineId })
    .whereNull('closed_at')
    .update({ closed_at: trx.fn.now() });
  const expires = trx.raw(`now() + ? * interval '1 second'`, [windowSeconds]);
  const [row] = (await trx('approval_requests')
    .insert({
      machine_id: machineId,
      vote_id: vote.voteId,
      operator_cn: vote.operatorCn,
      identity: vote.identity,
      role,
      hostname: vote.hostname,
      assigned_ip: vote.assignedIp,
      expires_at: expires,
    })
    .returning('expires_at')) as { expires_at: string }[];
  await trx('machines')
    .where({ machine_id: machineId })
    .update({ vote_role: role, vote_expires_at: expires });
  if (row === undefined) throw new Error('insert returned no row');
  return row.expires_at;
};

export const consumeVote = (trx: Knex.Transaction, id: number, completedBy: string): PromiseLike<number> =>
  trx('approval_requests')
    .where({ id })
    .update({ consumed: true, closed_at: trx.fn.now(), completed_by: completedBy });

/** What the vote of that request did, when it was carried out before. */
export const findVoteOutcome = async (
  trx: Knex.Transaction,
  voteId: string,
): Promise<ApprovalOutcome | undefined> => {
  const row = (await trx('approval_requests')
    .first({ completedBy: 'completed_by', expiresAt: 'expires_at' })
    .where({ vote_id: voteId })
    .orWhere({ completed_by: voteId })) as { completedBy: string | null; expiresAt: string } | undefined;
  if (row === undefined) return undefined;
  return row.completedBy === voteId
    ? { kind: 'approved' }
    : { kind: 'pending', votes: 1, expiresAt: row.expiresAt };
};

/** Closes the window of a machine if it has lapsed. Milliseconds that an open one has left, else 0. */
export const closeLapsedVote = async (db: Knex, machineId: string): Promise<number> => {
  await db('approval_requests')
    .where({ machine_id: machineId })
    .whereNull('closed_at')
    .andWhereRaw('expires_at <= now()')
    .update({ closed_at: db.fn.now() });
  const result = await db.raw<{ rows: { left: number }[] }>(
    `select ceil(extract(epoch from expires_at - now()) * 1000)::bigint as left from approval_requests
     where machine_id = ? and closed_at is null`,
    [machineId],
  );
  return Math.max(0, result.rows[0]?.left ?? 0);
};
