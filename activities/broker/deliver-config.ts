import type { Knex } from 'knex';
import { findMachineByToken } from '../../db/broker/config-tokens.js';
import { findTrust } from '../../db/broker/attestation-keys.js';
import { findByMac } from '../../db/broker/machines.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import { consumeToken } from '../../db/broker/provisioning.js';
import type { Envelope, PcrBinding } from '../../domain/broker/envelope.js';
import { isEnvelopeFormat, possibleFormats } from '../../domain/broker/envelope.js';
import { isBarred } from '../../domain/broker/lifecycle.js';
import { onlyState } from '../../domain/broker/pcr-policy.js';
import type { PcrPolicy } from '../../domain/broker/pcr-policy.js';
import { normaliseMac } from '../../domain/broker/machine.js';
import type { MachineStatus } from '../../domain/broker/machine.js';
import type { NodeFile } from '../../domain/broker/node-config.js';
import { AppError } from '../../domain/errors.js';
import type { Logger } from '../../domain/logger.js';
import { formatImpossible, sealEnvelope } from '../crypto/envelope.js';
import { tokenHash } from './config-tokens.js';
import { findEkTarget } from './ek-target.js';

/** What the caller's `Accept` asks for; `format` is its media-type parameter. */
export type Delivery =
  { readonly encrypted: false } | { readonly encrypted: true; readonly format: string | undefined };

export type DeliveredConfig =
  | { readonly kind: 'pending'; readonly text: string }
  | { readonly kind: 'plain'; readonly machineId: string; readonly yaml: string }
  | { readonly kind: 'envelope'; readonly machineId: string; readonly envelope: Envelope };

export interface DeliverConfigDeps {
  readonly db: Knex;
  readonly log: Logger;
  /** The role's base config with the machine's values; `unavailable` when the role has no base. */
  readonly renderConfig: (machine: MachineRecord, files?: readonly NodeFile[]) => Promise<string>;
  readonly pendingConfig: string;
  readonly requireEncrypted: boolean;
  /** Status from which a token releases the full config. */
  readonly releaseFrom: 'attested' | 'registered';
}

const tokenUnknown = (): AppError => new AppError('not_found', 'config token unknown');

/** By token: the first fetch of the full config consumes it; it stays good while the machine is. */
export const createConfigByToken =
  (deps: DeliverConfigDeps) =>
  async (token: string, delivery: Delivery): Promise<DeliveredConfig> => {
    const sha256 = tokenHash(token);
    const machine = await findMachineByToken(deps.db, sha256);
    if (machine === undefined || isBarred(machine.status)) throw tokenUnknown();
    const released: readonly MachineStatus[] =
      deps.releaseFrom === 'registered' ? ['attested', 'registered'] : ['attested'];
    if (!released.includes(machine.status)) return { kind: 'pending', text: deps.pendingConfig };
    const config = await fullConfig(deps, machine, delivery);
    if (!machine.tokenConsumed) {
      await consumeToken(deps.db, sha256, [{ topic: 'event', payload: { event: 'node.configured' } }]);
    }
    return config;
  };

/** By MAC: only for an attested machine, and only when no other machine claims the address. */
export const createConfigByMac =
  (deps: DeliverConfigDeps) =>
  async (macText: string, delivery: Delivery): Promise<DeliveredConfig> => {
    const mac = normaliseMac(macText);
    const claimants = /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) ? await findByMac(deps.db, mac) : [];
    if (claimants.length > 1) {
      deps.log.warn(
        { mac, machineIds: claimants.map((m) => m.machineId) },
        'one MAC on two machines: no config by MAC',
      );
      throw new AppError('conflict', 'two machines claim this MAC address; fetch the config by token', {
        code: 'mac_not_unique',
      });
    }
    const [machine] = claimants;
    if (machine?.status !== 'attested') return { kind: 'pending', text: deps.pendingConfig };
    return fullConfig(deps, machine, delivery);
  };

const fullConfig = async (
  deps: DeliverConfigDeps,
  machine: MachineRecord,
  delivery: Delivery,
): Promise<DeliveredConfig> => {
  if (!delivery.encrypted) {
    if (deps.requireEncrypted) {
      throw new AppError(
        'not_acceptable',
        'this service delivers configs encrypted only; see the Accept header',
        {
          code: 'encryption_required',
        },
      );
    }
    return { kind: 'plain', machineId: machine.machineId, yaml: await deps.renderConfig(machine) };
  }
  const ek = (await findEkTarget(deps.db, machine))?.target;
  if (ek === undefined) throw formatImpossible(delivery.format ?? 'any', []);
  const { ak, policy } = await findTrust(deps.db, machine.machineId);
  const possible = possibleFormats(ek, ak !== undefined);
  const format = delivery.format ?? possible[0];
  if (format === undefined || !isEnvelopeFormat(format)) throw formatImpossible(format ?? 'any', possible);
  const envelope = await sealEnvelope({
    format,
    machineId: machine.machineId,
    ek,
    akName: ak?.akName,
    pcrBinding: bindingOf(policy),
    plaintext: Buffer.from(await deps.renderConfig(machine)),
  });
  return { kind: 'envelope', machineId: machine.machineId, envelope };
};

/** An enforced policy that describes one state also binds the key: the TPM opens it in that state only. */
const bindingOf = (policy: PcrPolicy | undefined): PcrBinding | undefined => {
  const values = policy?.mode === 'enforce' ? onlyState(policy) : undefined;
  return policy === undefined || values === undefined ? undefined : { bank: policy.bank, values };
};
