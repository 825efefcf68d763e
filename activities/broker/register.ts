import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { createMachine, refreshRegistration } from '../../db/broker/registrations.js';
import { findByFingerprint } from '../../db/broker/machines.js';
import type { MachineRecord, NewMachine } from '../../db/broker/machines.js';
import { isBarred } from '../../domain/broker/lifecycle.js';
import type { HardwareIdentity, Role } from '../../domain/broker/machine.js';
import { normaliseMac } from '../../domain/broker/machine.js';
import { AppError } from '../../domain/errors.js';
import { storedEk } from '../crypto/ek.js';
import type { ConfigTokens, MintedToken } from './config-tokens.js';
import type { EkReader, PresentedEk, ReadEk } from './ek-reader.js';

export interface Registration extends PresentedEk, HardwareIdentity {
  readonly desiredRole: Role | null;
}

export interface Registered {
  readonly machine: MachineRecord;
  readonly isNew: boolean;
  readonly isoUrl: string | null;
  readonly configToken: string | null;
  readonly configUrl: string | null;
}

export interface RegisterDeps {
  readonly db: Knex;
  readonly readEk: EkReader;
  readonly tokens: ConfigTokens;
  readonly dualControlRoles: readonly Role[];
  /** Address of an image whose kernel fetches the config from `configUrl`; `unavailable` when it cannot be had. */
  readonly imageFor: (configUrl: string) => Promise<string>;
  /** Throws `throttled` while too many machines wait for approval. */
  readonly admitPending: () => Promise<void>;
}

/** A role under dual control is never reached without its votes, so it starts as a request. */
export const statusOfNew = (role: Role, dualControlRoles: readonly Role[]): NewMachine['status'] =>
  dualControlRoles.includes(role) ? 'pending_approval' : 'registered';

/** The row of a machine that was never seen before. */
export const newMachine = (
  { material, makerRoot, ekPublic }: ReadEk,
  hardware: HardwareIdentity,
  fields: Pick<NewMachine, 'role' | 'status' | 'isoUrl'> & { readonly machineId?: string },
): NewMachine => ({
  machineId: fields.machineId ?? randomUUID(),
  ekFingerprint: material.fingerprintSha384,
  ekSource: material.source,
  ekCertPem: storedEk(material),
  ekSpkiSha384: material.spkiSha384,
  ekPublic,
  ekRoot: makerRoot?.subject ?? null,
  hwUuid: hardware.hwUuid,
  hwMac: normaliseMac(hardware.hwMac),
  hwSerial: hardware.hwSerial,
  hwProduct: hardware.hwProduct,
  role: fields.role,
  status: fields.status,
  isoUrl: fields.isoUrl,
});

/**
 * Pre-registration by an agent before the machine boots. The image is asked for before anything is written, so a
 * factory that is away leaves nothing behind; the call is idempotent by EK.
 */
export const createRegister =
  (deps: RegisterDeps) =>
  async (input: Registration): Promise<Registered> => {
    const ek = await deps.readEk(input);
    const known = await findByFingerprint(deps.db, ek.fingerprints);
    if (known !== undefined) return refresh(deps, known, input);

    const role = input.desiredRole ?? 'worker-app';
    const status = statusOfNew(role, deps.dualControlRoles);
    if (status === 'pending_approval') await deps.admitPending();
    const machineId = randomUUID();
    const minted = deps.tokens.mint(machineId);
    const isoUrl = await deps.imageFor(deps.tokens.url(minted.token));
    const { machine, isNew } = await createMachine(deps.db, {
      machine: newMachine(ek, input, { machineId, role, status, isoUrl }),
      fingerprints: ek.fingerprints,
      token: minted.sealed,
      messages: [
        { topic: 'event', payload: { event: 'node.registered', tokenSha256: minted.sealed.sha256 } },
      ],
    });
    return isNew ? registered(deps, machine, minted, true) : refresh(deps, machine, input);
  };

const refresh = async (
  deps: RegisterDeps,
  known: MachineRecord,
  input: Registration,
): Promise<Registered> => {
  if (isBarred(known.status)) throw barred(known);
  const minted = deps.tokens.mint(known.machineId);
  const isoUrl = known.isoUrl ?? (await deps.imageFor(deps.tokens.url(minted.token)));
  const machine = await refreshRegistration(deps.db, {
    machineId: known.machineId,
    hardware: { ...input, hwMac: normaliseMac(input.hwMac) },
    isoUrl,
    token: minted.sealed,
  });
  if (machine === undefined) throw barred(known);
  return registered(deps, machine, minted, false);
};

export const barred = (machine: MachineRecord): AppError =>
  new AppError('conflict', `this machine is ${isBarred(machine.status) ? machine.status : 'barred'}`, {
    code: 'machine_barred',
  });

const registered = (
  deps: RegisterDeps,
  machine: MachineRecord,
  { token }: MintedToken,
  isNew: boolean,
): Registered => ({
  machine,
  isNew,
  isoUrl: machine.isoUrl,
  configToken: token,
  configUrl: deps.tokens.url(token),
});

/** Self-registration on first boot: an unknown machine waits for approval, a known one gets its record, never a token. */
export const createSelfRegister =
  (deps: Pick<RegisterDeps, 'db' | 'readEk' | 'admitPending'>) =>
  async (input: Registration): Promise<Registered> => {
    const ek = await deps.readEk(input);
    await deps.admitPending();
    const { machine, isNew } = await createMachine(deps.db, {
      machine: newMachine(ek, input, {
        role: input.desiredRole ?? 'worker-app',
        status: 'pending_approval',
        isoUrl: null,
      }),
      fingerprints: ek.fingerprints,
      messages: [{ topic: 'event', payload: { event: 'node.registered' } }],
    });
    return { machine, isNew, isoUrl: null, configToken: null, configUrl: null };
  };
