import type Router from '@koa/router';
import { createAttest } from '../../activities/broker/attest.js';
import { createConfigByMac, createConfigByToken } from '../../activities/broker/deliver-config.js';
import type { DeliverConfigDeps } from '../../activities/broker/deliver-config.js';
import { createPendingQuota } from '../../activities/broker/pending-quota.js';
import type { Registered } from '../../activities/broker/register.js';
import { createRegister, createSelfRegister } from '../../activities/broker/register.js';
import type { RequestState } from '../http/state.js';
import type { BrokerParts } from './parts.js';
import { attestRoutes } from './routes/attest.js';
import { configRoutes } from './routes/config.js';
import { registrationRoutes } from './routes/registration.js';

const registeredAs = ({ machine }: Registered): string => machine.status;

/** What nodes and agents call without a login. */
export const publicRouters = (parts: BrokerParts): readonly Router<RequestState>[] => {
  const { config, db, metrics, nonces, readEk, tokens } = parts;
  const admitPending = createPendingQuota(db, config.SVC_PENDING_LIMIT, parts.clock);
  const registration = {
    db,
    readEk,
    tokens,
    admitPending,
    dualControlRoles: config.SVC_DUAL_CONTROL_ROLES,
    imageFor: parts.imageFor,
  };
  const delivery: DeliverConfigDeps = {
    db,
    log: parts.log,
    renderConfig: parts.renderConfig,
    pendingConfig: parts.pendingConfig,
    requireEncrypted: config.SVC_REQUIRE_ENCRYPTED_DELIVERY,
    releaseFrom: config.SVC_CONFIG_RELEASE,
  };
  return [
    registrationRoutes(
      {
        register: metrics.countRegistrations(createRegister(registration), registeredAs),
        selfRegister: metrics.countRegistrations(createSelfRegister(registration), registeredAs),
      },
      config.SVC_REGISTER_TOKEN,
    ),
    attestRoutes({
      issueNonce: (source) => nonces.issue(source),
      attest: metrics.countAttestations(
        createAttest({
          db,
          readEk,
          tokens,
          admitPending,
          redeemNonce: (nonceId) => nonces.redeem(nonceId),
          requireNonce: config.SVC_REQUIRE_NONCE,
          judgeEvidence: parts.judgeEvidence,
        }),
        ({ action, machine }) => ({ action, status: machine.status }),
      ),
    }),
    configRoutes({ configByToken: createConfigByToken(delivery), configByMac: createConfigByMac(delivery) }),
  ];
};
