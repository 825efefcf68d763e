import type { Call, Connection } from './client.js';

/** The REST API's machine calls, with the fields that the provider reads. */
export interface Machine {
  readonly machine_id: string;
  readonly ek_fingerprint: string;
  readonly status: string;
  readonly role: string | null;
  readonly hostname: string | null;
  readonly assigned_ip: string | null;
  readonly hw_serial: string | null;
  readonly hw_product: string | null;
  readonly hw_mac: string | null;
  readonly iso_url: string | null;
}

export interface Registration {
  readonly ek_fingerprint: string;
  readonly ek_cert_pem: string;
  readonly ek_source?: string | undefined;
  readonly hw_serial?: string | undefined;
  readonly hw_product?: string | undefined;
  readonly hw_mac?: string | undefined;
  readonly hw_uuid?: string | undefined;
  readonly desired_role?: string | undefined;
}

export interface Registered {
  readonly machine_id: string;
  readonly status: string;
  readonly config_url: string;
  readonly config_token: string;
  readonly iso_url: string;
}

export interface Proposal {
  readonly role: string;
  readonly hostname?: string | undefined;
  readonly assigned_ip?: string | undefined;
}

export interface Vote {
  readonly role: string;
  readonly consumed: boolean;
  readonly expires_at: string;
}

/** The machine was taken out of service outside of the tool. */
export const isDrifted = (status: string | undefined): boolean =>
  status === 'revoked' || status === 'locked' || status === 'rejected';

const pathOf = (machineId: string, act = ''): string =>
  `/api/v1/machines/${encodeURIComponent(machineId)}${act}`;

export const createMachines = (call: Call) => {
  const read = async (connection: Connection, machineId: string): Promise<Machine | undefined> => {
    const { status, body } = await call(connection, `read machine ${machineId}`, 'GET', pathOf(machineId), {
      accept: [404],
    });
    return status === 404 ? undefined : (body as unknown as Machine);
  };

  return {
    read,
    register: async (
      connection: Connection,
      registration: Registration,
      token: string | undefined,
    ): Promise<Registered> => {
      const { body } = await call(connection, 'register machine', 'POST', '/api/v1/register', {
        body: registration,
        token,
      });
      return body as unknown as Registered;
    },
    /** `pending`: the vote counts, and somebody else must vote the same. */
    approve: async (
      connection: Connection,
      machineId: string,
      proposal: Proposal,
    ): Promise<'approved' | 'pending'> => {
      const { status } = await call(
        connection,
        `approve machine ${machineId}`,
        'POST',
        pathOf(machineId, '/approve'),
        { body: proposal },
      );
      return status === 202 ? 'pending' : 'approved';
    },
    /** A machine that is revoked, rejected or unknown already is what was asked for. */
    revoke: async (connection: Connection, machineId: string): Promise<void> => {
      const what = `revoke machine ${machineId}`;
      const answer = await call(connection, what, 'POST', pathOf(machineId, '/revoke'), {
        body: { reason: 'removed from its stack' },
        accept: [404, 409],
      });
      if (answer.status !== 409) return;
      const machine = await read(connection, machineId);
      if (machine === undefined || machine.status === 'revoked' || machine.status === 'rejected') return;
      const { detail } = answer.body;
      throw new Error(`${what}: ${typeof detail === 'string' ? detail : 'refused'} (HTTP 409)`);
    },
    openVotes: async (connection: Connection, machineId: string): Promise<readonly Vote[]> => {
      const { body } = await call(
        connection,
        `read the votes on machine ${machineId}`,
        'GET',
        pathOf(machineId, '/approvals'),
      );
      return (body as unknown as readonly Vote[]).filter(({ consumed }) => !consumed);
    },
  };
};
export type Machines = ReturnType<typeof createMachines>;
