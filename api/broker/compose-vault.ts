import type Router from '@koa/router';
import { createAttestationKeyOf } from '../../activities/broker/ak-cache.js';
import { logAct } from '../../activities/broker/act-log.js';
import { createProveMachine } from '../../activities/broker/machine-proof.js';
import { createMachineSecrets } from '../../activities/broker/machine-secrets.js';
import { createSealForMachine } from '../../activities/broker/secret-envelope.js';
import { createSecretGrants } from '../../activities/broker/secret-grants.js';
import { createSharedSecrets, requireSharedSecret } from '../../activities/broker/shared-secrets.js';
import { countForRewrap } from '../../db/broker/rewrap.js';
import { listSharedSecrets } from '../../db/broker/shared-secrets.js';
import { addToOutbox } from '../../db/outbox.js';
import type { RequestState } from '../http/state.js';
import { readRewrapProgress } from '../temporal/rewrap.js';
import type { BrokerParts } from './parts.js';
import type { ExtensionInfo } from './routes/extensions.js';
import { machineSecretReadRoutes, machineSecretRoutes } from './routes/machine-secrets.js';
import { sharedSecretReadRoutes, sharedSecretRoutes } from './routes/shared-secrets.js';

export const vaultExtension: ExtensionInfo = {
  name: 'secret_vault',
  version: '2.0.0',
  description: 'Secrets of machines, sealed to their TPM, and shared secrets with grants',
};

type VaultDeps = Pick<
  BrokerParts,
  'config' | 'db' | 'clock' | 'keyRing' | 'nonces' | 'operator' | 'temporal' | 'metrics'
>;

export interface VaultRouters {
  readonly operator: readonly Router<RequestState>[];
  readonly node: readonly Router<RequestState>[];
}

/** The secret vault: what operators and what machines call. */
export const vaultRouters = (deps: VaultDeps): VaultRouters => {
  const { config, db, clock, keyRing: keys, nonces, metrics } = deps;
  const attestationKeyOf = createAttestationKeyOf(db);
  const useCases = {
    db,
    clock,
    keys,
    sealFor: createSealForMachine(db, attestationKeyOf),
    prove: createProveMachine({
      db,
      redeemNonce: (nonceId) => nonces.redeem(nonceId),
      attestationKeyOf,
      highAssurance: config.SVC_HIGH_ASSURANCE,
    }),
  };
  const machine = metrics.countSecrets('machine', createMachineSecrets(useCases));
  const shared = metrics.countSecrets('shared', createSharedSecrets(useCases));
  return {
    node: [machineSecretReadRoutes(machine), sharedSecretReadRoutes(shared)],
    operator: [
      machineSecretRoutes(machine, deps.operator),
      sharedSecretRoutes(
        {
          ...shared,
          grants: metrics.countSecrets('grant', createSecretGrants(db)),
          list: () => listSharedSecrets(db),
          find: (id) => requireSharedSecret(db, id),
          startRewrap: (actor) =>
            db.transaction(async (trx) => {
              await addToOutbox(trx, [{ topic: 'rewrap-secrets', key: keys.currentKeyId, payload: {} }]);
              await logAct(trx, actor, 'rewrap', `key=${keys.currentKeyId}`);
            }),
          rewrapProgress: () =>
            readRewrapProgress(deps.temporal, () => countForRewrap(db, keys.currentKeyId)),
        },
        deps.operator,
      ),
    ],
  };
};
