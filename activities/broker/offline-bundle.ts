import { replaceToken } from '../../db/broker/registrations.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { NodeFile } from '../../domain/broker/node-config.js';
import { AppError } from '../../domain/errors.js';
import { logAct } from './act-log.js';
import { requireMachine } from './acts.js';
import type { ConfigTokens } from './config-tokens.js';
import type { IssueDeps } from './issue-certificate.js';
import { isEnrollable, issueForMachine, newEnrollmentKey, privateKeyPem } from './issue-certificate.js';

export interface OfflineBundle {
  readonly machine: MachineRecord;
  readonly configToken: string | null;
  readonly configUrl: string | null;
  /** Null when the role has no usable base config. */
  readonly machineConfig: string | null;
  readonly certificatePem: string;
  readonly keyPem: string;
  readonly builtAt: Date;
}

export interface OfflineBundleDeps extends IssueDeps {
  readonly tokens: ConfigTokens;
  readonly renderConfig: (machine: MachineRecord, files?: readonly NodeFile[]) => Promise<string>;
  /** No private key leaves in the clear, so there is no bundle. */
  readonly highAssurance: boolean;
}

const folder = '/var/lib/svc-tpm';

/** Everything a node without a network needs, its private key included; every bundle is audited. */
export const createOfflineBundle =
  (deps: OfflineBundleDeps) =>
  async (actor: Actor, machineId: string): Promise<OfflineBundle> => {
    const machine = await requireMachine(deps.db, machineId);
    if (!isEnrollable(machine.status)) {
      throw new AppError('conflict', `no bundle for a machine that is ${machine.status}`, {
        code: 'bundle_refused',
      });
    }
    if (deps.highAssurance) {
      throw new AppError('forbidden', 'no private key leaves in the clear', { code: 'key_in_clear' });
    }
    const { privateKey, publicKey } = await newEnrollmentKey();
    const issued = await issueForMachine(deps, machine, publicKey, actor.operatorCn);
    const keyPem = privateKeyPem(privateKey);
    const configToken = await tokenOf(deps, machine);
    const machineConfig = await renderOrNull(deps, machine, issued.pem, keyPem);
    await deps.db.transaction((trx) =>
      logAct(trx, actor, 'offline_bundle', `role=${machine.role}`, machineId),
    );
    return {
      machine,
      configToken,
      configUrl: configToken === null ? null : deps.tokens.url(configToken),
      machineConfig,
      certificatePem: issued.pem,
      keyPem,
      builtAt: deps.clock.now(),
    };
  };

/** The token that the machine has, or a fresh one in the place of one that cannot be read. */
const tokenOf = async (deps: OfflineBundleDeps, machine: MachineRecord): Promise<string | null> => {
  const { machineId, configTokenSha256 } = machine;
  if (configTokenSha256 === null) return null;
  const known = await deps.tokens.read(deps.db, machineId, configTokenSha256);
  if (known !== undefined) return known;
  const { token, sealed } = deps.tokens.mint(machineId);
  await replaceToken(deps.db, machineId, configTokenSha256, sealed);
  return token;
};

const renderOrNull = async (
  deps: OfflineBundleDeps,
  machine: MachineRecord,
  certificatePem: string,
  keyPem: string,
): Promise<string | null> => {
  const files = [
    { path: `${folder}/enrollment.crt`, permissions: 0o444, content: certificatePem },
    { path: `${folder}/enrollment.key`, permissions: 0o400, content: keyPem },
  ];
  try {
    return await deps.renderConfig(machine, files);
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
};
