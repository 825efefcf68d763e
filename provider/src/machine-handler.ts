import type { dynamic } from '@pulumi/pulumi';
import { failuresOf, isKnown, machineRules } from './check.js';
import type { Connection } from './client.js';
import { isDrifted } from './machines.js';
import type { Machine, Machines, Registered, Registration } from './machines.js';

export interface MachineInputs extends Registration, Connection {
  /** When the service registers machines only with `SVC_REGISTER_TOKEN`. */
  readonly register_token?: string | undefined;
  readonly keep_on_delete?: boolean | undefined;
}
export interface MachineState extends MachineInputs, Registered {}

/** Other hardware is another machine. */
const IDENTITY = ['ek_fingerprint', 'ek_cert_pem', 'ek_source'] as const;
const HARDWARE = ['hw_serial', 'hw_product', 'hw_mac', 'hw_uuid'] as const;
/** Kept for later calls; the machine itself does not change by them. */
const SETTINGS = ['endpoint', 'token', 'register_token', 'keep_on_delete', 'desired_role'] as const;

type Field = (typeof IDENTITY | typeof HARDWARE | typeof SETTINGS)[number];

const normal = (field: Field, value: unknown): unknown => {
  if (typeof value !== 'string') return value ?? undefined;
  if (field === 'hw_mac') return value.toLowerCase().replace(/[^0-9a-f]/g, '');
  return field === 'ek_fingerprint' ? value.trim().toLowerCase() : value;
};

const differs = (field: Field, olds: Partial<MachineState>, news: MachineInputs): boolean =>
  normal(field, olds[field]) !== normal(field, news[field]);

/** A machine that was looked up by its id came without its EK certificate: the service does not give it out. */
const isOther = (field: (typeof IDENTITY)[number], olds: Partial<MachineState>, news: MachineInputs) =>
  olds[field] !== undefined && olds[field] !== '' && differs(field, olds, news);

const registrationOf = (inputs: MachineInputs): Registration => {
  const { ek_fingerprint, ek_cert_pem, ek_source, hw_serial, hw_product, hw_mac, hw_uuid, desired_role } =
    inputs;
  return { ek_fingerprint, ek_cert_pem, ek_source, hw_serial, hw_product, hw_mac, hw_uuid, desired_role };
};

const outputsOf = ({ machine_id, status, config_url, config_token, iso_url }: Registered): Registered => ({
  machine_id,
  status,
  config_url,
  config_token,
  iso_url,
});

/**
 * A registered machine. `created` holds the machines that this run of the tool registered: a replacement that came
 * upon the same machine (the same EK) must not be followed by its revocation.
 */
export const createMachineHandler = (machines: Machines, created: Set<string>) => {
  const register = async (inputs: MachineInputs): Promise<MachineState> => ({
    ...inputs,
    ...outputsOf(await machines.register(inputs, registrationOf(inputs), inputs.register_token)),
  });

  return {
    check: (inputs: MachineInputs): dynamic.CheckResult => ({
      inputs,
      failures: failuresOf(machineRules, { ...inputs }),
    }),

    diff: (olds: MachineState, news: MachineInputs): dynamic.DiffResult => {
      const replaces: string[] = IDENTITY.filter(
        (field) => isKnown(news[field]) && isOther(field, olds, news),
      );
      if (isDrifted(olds.status)) replaces.push('status');
      const updated = [...IDENTITY, ...HARDWARE, ...SETTINGS].some((field) => differs(field, olds, news));
      return { changes: updated || replaces.length > 0, replaces };
    },

    create: async (inputs: MachineInputs): Promise<dynamic.CreateResult> => {
      const outs = await register(inputs);
      created.add(outs.machine_id);
      return { id: outs.machine_id, outs };
    },

    /** An unknown machine is told to the engine by an empty id. */
    read: async (id: string, props: MachineState): Promise<dynamic.ReadResult> => {
      const machine = await machines.read(props, id);
      if (machine !== undefined) return { id, props: { ...props, ...seen(props, machine) } };
      if (isLookup(props)) throw new Error(`machine ${id} is not known at ${props.endpoint}`);
      return { id: '', props: {} };
    },

    /** Registering again brings the hardware fields up to date, and mints a fresh config token. */
    update: async (id: string, olds: MachineState, news: MachineInputs): Promise<dynamic.UpdateResult> => {
      if (HARDWARE.some((field) => differs(field, olds, news))) return { outs: await register(news) };
      const machine = await machines.read(news, id);
      if (machine === undefined) throw new Error(`machine ${id} is not known at ${news.endpoint}`);
      return { outs: { ...news, ...outputsOf(olds), status: machine.status } };
    },

    delete: async (id: string, props: MachineState): Promise<void> => {
      if (props.keep_on_delete === true || created.has(id)) return;
      await machines.revoke(props, id);
    },
  };
};

/** Looked up by its id, so that only the connection is known. */
const isLookup = (props: MachineState): boolean => (props.ek_fingerprint as string | undefined) === undefined;

/**
 * What the service says now. Hardware fields only where the program sets them, in the form in which it does; all of them
 * for a machine that was looked up by its id.
 */
const seen = (props: MachineState, machine: Machine): Partial<MachineState> => {
  const hardware = (['hw_serial', 'hw_product', 'hw_mac'] as const)
    .filter((field) => isLookup(props) || (props[field] !== undefined && differsFrom(props, machine, field)))
    .map((field) => [field, machine[field] ?? ''] as const);
  return {
    machine_id: machine.machine_id,
    status: machine.status,
    iso_url: machine.iso_url ?? props.iso_url,
    ...(isLookup(props) ? { ek_fingerprint: machine.ek_fingerprint } : {}),
    ...Object.fromEntries(hardware),
  };
};

const differsFrom = (props: MachineState, machine: Machine, field: 'hw_serial' | 'hw_product' | 'hw_mac') =>
  normal(field, props[field]) !== normal(field, machine[field]);
