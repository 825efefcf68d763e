import { randomUUID } from 'node:crypto';
import { createMachine } from '../../db/broker/registrations.js';
import { findByFingerprint, findMachine } from '../../db/broker/machines.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import type { Actor } from '../../domain/broker/actor.js';
import { isBarred } from '../../domain/broker/lifecycle.js';
import type { HardwareIdentity, Role } from '../../domain/broker/machine.js';
import { AppError } from '../../domain/errors.js';
import type { PresentedEk } from './ek-reader.js';
import { barred, newMachine, statusOfNew } from './register.js';
import type { RegisterDeps } from './register.js';

/** A receipt that an agent wrote about a TPM where there was no network. */
export interface TpmReceipt extends Omit<PresentedEk, 'ekFingerprint'>, HardwareIdentity {
  readonly ekFingerprint: string | null;
  readonly machineId: string | null;
  readonly role: Role | null;
}
export interface ImportedMachine {
  readonly machine: MachineRecord;
  readonly isNew: boolean;
  readonly configUrl: string | null;
}
type ImportDeps = Pick<RegisterDeps, 'db' | 'readEk' | 'tokens' | 'dualControlRoles'>;

/**
 * Creates a machine from a receipt. The fingerprint is computed from the material, whatever the receipt says; a role
 * under dual control still waits for its votes.
 */
export const createImportMachine =
  ({ db, readEk, tokens, dualControlRoles }: ImportDeps) =>
  async (actor: Actor, receipt: TpmReceipt): Promise<ImportedMachine> => {
    const ek = await readEk(receipt);
    const known = await findByFingerprint(db, ek.fingerprints);
    if (known !== undefined) return alreadyKnown(known);
    const machineId = receipt.machineId ?? randomUUID();
    if ((await findMachine(db, machineId)) !== undefined) {
      throw new AppError('conflict', 'this machine_id belongs to another EK', { code: 'machine_id_taken' });
    }
    const role = receipt.role ?? 'worker-app';
    const status = statusOfNew(role, dualControlRoles);
    const minted = status === 'registered' ? tokens.mint(machineId) : undefined;
    const { machine, isNew } = await createMachine(db, {
      machine: newMachine(ek, receipt, { machineId, role, status, isoUrl: null }),
      fingerprints: ek.fingerprints,
      ...(minted === undefined ? {} : { token: minted.sealed }),
      messages: [],
      act: {
        action: 'import',
        operatorCn: actor.operatorCn,
        detail: `ek=${ek.material.fingerprintSha384.slice(0, 12)}... role=${role}`,
        context: actor.context,
      },
    });
    if (!isNew) return alreadyKnown(machine);
    return { machine, isNew, configUrl: minted === undefined ? null : tokens.url(minted.token) };
  };

const alreadyKnown = (machine: MachineRecord): ImportedMachine => {
  if (isBarred(machine.status)) throw barred(machine);
  return { machine, isNew: false, configUrl: null };
};
