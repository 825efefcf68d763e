import type { Knex } from 'knex';
import type { HttpClient } from './http.js';
import { softwareEk } from './ek.js';

/** An answer, or undefined when the connection broke before one came. */
export type MaybeAnswer = { readonly status: number; readonly text: string } | undefined;

export interface MachineFacts {
  readonly status: string;
  readonly tokens: number;
  readonly consumed: number;
  /** Audit actions of the machine in order. */
  readonly acts: readonly string[];
  readonly openVotes: number;
}

/** What the database holds of a machine; read in one statement, so it is one moment. */
export const machineFacts = async (db: Knex, machineId: string): Promise<MachineFacts> => {
  const { rows } = await db.raw<{ rows: MachineFacts[] }>(
    `select m.status,
       (select count(*) from config_tokens t where t.machine_id = m.machine_id) as tokens,
       (select count(*) from config_tokens t where t.machine_id = m.machine_id and consumed_at is not null) as consumed,
       coalesce((select array_agg(action order by id) from audit_log a where a.machine_id = m.machine_id::text), '{}') as acts,
       (select count(*) from approval_requests r where r.machine_id = m.machine_id and closed_at is null) as "openVotes"
     from machines m where m.machine_id = ?`,
    [machineId],
  );
  return rows[0]!;
};

export const pendingMachine = async (node: HttpClient): Promise<{ machineId: string; ek: object }> => {
  const ek = softwareEk();
  const { body } = await node.post('/api/v1/self-register', ek);
  return { machineId: body.machine_id as string, ek };
};

export const attestedMachine = async (
  node: HttpClient,
  admin: HttpClient,
): Promise<{ machineId: string; token: string }> => {
  const { machineId, ek } = await pendingMachine(node);
  await admin.post(`/api/v1/machines/${machineId}/approve`, { role: 'worker-app' });
  const { body } = await node.post('/api/v1/attest', ek);
  return { machineId, token: body.config_token as string };
};
