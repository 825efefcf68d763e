import Router from '@koa/router';
import type { Client } from '@temporalio/client';
import type { Knex } from 'knex';
import type Koa from 'koa';
import { createActs, requireMachine } from '../../activities/broker/acts.js';
import { createAttest } from '../../activities/broker/attest.js';
import type { JudgeEvidence } from '../../activities/broker/attest.js';
import { createConfigTokens } from '../../activities/broker/config-tokens.js';
import { createConfigByMac, createConfigByToken } from '../../activities/broker/deliver-config.js';
import type { DeliverConfigDeps } from '../../activities/broker/deliver-config.js';
import { createEkReader } from '../../activities/broker/ek-reader.js';
import type { NonceStore } from '../../activities/broker/nonces.js';
import { createPendingQuota } from '../../activities/broker/pending-quota.js';
import { createRegister, createSelfRegister } from '../../activities/broker/register.js';
import { verifyAudit } from '../../activities/broker/verify-audit.js';
import type { KeyRing } from '../../activities/crypto/key-ring.js';
import { findOpenVote } from '../../db/broker/approvals.js';
import { countAudit, listAudit } from '../../db/broker/audit.js';
import { countMachines, listMachines } from '../../db/broker/machines.js';
import type { Clock } from '../../domain/clock.js';
import type { BrokerConfig } from '../../domain/config/broker.js';
import type { Logger } from '../../domain/logger.js';
import type { RequireOperator } from '../auth/identity.js';
import { createApp } from '../http/app.js';
import { jsonBody } from '../http/body.js';
import type { Readiness } from '../http/readiness.js';
import type { RequestState } from '../http/state.js';
import { createBrokerCommands } from '../temporal/broker-commands.js';
import { createApprove } from './approve.js';
import { attestRoutes } from './routes/attest.js';
import { auditRoutes } from './routes/audit.js';
import { configRoutes } from './routes/config.js';
import { extensionRoutes } from './routes/extensions.js';
import type { ExtensionInfo } from './routes/extensions.js';
import { healthRoutes } from './routes/health.js';
import { machineRoutes } from './routes/machines.js';
import { registrationRoutes } from './routes/registration.js';

/** Everything the gateway stands on; the entry point and the tests fill it. */
export interface BrokerDeps {
  readonly config: BrokerConfig;
  readonly db: Knex;
  readonly temporal: Client;
  readonly log: Logger;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  readonly nonces: NonceStore;
  readonly operator: RequireOperator;
  readonly judgeEvidence: JudgeEvidence;
  readonly imageFor: (configUrl: string) => Promise<string>;
  readonly renderConfig: DeliverConfigDeps['renderConfig'];
  readonly pendingConfig: string;
  readonly readiness: Readiness;
  readonly extensions: readonly ExtensionInfo[];
}

/** The broker gateway as a Koa app; it listens nowhere yet. */
export const createBrokerApp = (deps: BrokerDeps): Koa<RequestState> => {
  const { config } = deps;
  const api = new Router<RequestState>({ prefix: '/api/v1' });
  for (const router of [...publicRouters(deps), ...operatorRouters(deps)]) api.use(router.routes());
  const health = healthRoutes(deps.readiness);
  return createApp({
    log: deps.log,
    trustedProxies: config.SVC_TRUSTED_PROXIES,
    middleware: [health.routes(), jsonBody(), api.routes(), api.allowedMethods()],
  });
};

const publicRouters = (deps: BrokerDeps): readonly Router<RequestState>[] => {
  const { config, db, nonces } = deps;
  const readEk = createEkReader();
  const tokens = createConfigTokens(deps.keyRing, config.SVC_SERVICE_URL);
  const admitPending = createPendingQuota(db, config.SVC_PENDING_LIMIT, deps.clock);
  const registration = {
    db,
    readEk,
    tokens,
    admitPending,
    dualControlRoles: config.SVC_DUAL_CONTROL_ROLES,
    imageFor: deps.imageFor,
  };
  const delivery: DeliverConfigDeps = {
    db,
    log: deps.log,
    renderConfig: deps.renderConfig,
    pendingConfig: deps.pendingConfig,
    requireEncrypted: config.SVC_REQUIRE_ENCRYPTED_DELIVERY,
    releaseFrom: config.SVC_CONFIG_RELEASE,
  };
  return [
    registrationRoutes(
      { register: createRegister(registration), selfRegister: createSelfRegister(registration) },
      config.SVC_REGISTER_TOKEN,
    ),
    attestRoutes({
      issueNonce: (source) => nonces.issue(source),
      attest: createAttest({
        db,
        readEk,
        tokens,
        admitPending,
        redeemNonce: (nonceId) => nonces.redeem(nonceId),
        requireNonce: config.SVC_REQUIRE_NONCE,
        judgeEvidence: deps.judgeEvidence,
      }),
    }),
    configRoutes({ configByToken: createConfigByToken(delivery), configByMac: createConfigByMac(delivery) }),
  ];
};

const operatorRouters = (deps: BrokerDeps): readonly Router<RequestState>[] => {
  const { config, db, operator } = deps;
  const acts = createActs(db, createConfigTokens(deps.keyRing, config.SVC_SERVICE_URL));
  const commands = createBrokerCommands(deps.temporal, config.SVC_DUAL_CONTROL_WINDOW_SECONDS);
  const routers = [
    machineRoutes(
      {
        ...acts,
        approve: createApprove({
          acts,
          commands,
          dualControlRoles: config.SVC_DUAL_CONTROL_ROLES,
          breakGlassMayVote: !config.SVC_HIGH_ASSURANCE,
        }),
        read: (machineId) => requireMachine(db, machineId),
        list: async (filter) => ({
          machines: await listMachines(db, filter),
          total: await countMachines(db, filter),
        }),
        openVotes: async (machineId) => {
          await requireMachine(db, machineId);
          const vote = await findOpenVote(db, machineId);
          return vote === undefined ? [] : [vote];
        },
      },
      operator,
    ),
    auditRoutes(
      {
        list: async (filter, page) => ({
          entries: await listAudit(db, filter, page),
          total: await countAudit(db, filter),
        }),
        verify: () => verifyAudit(db),
      },
      operator,
    ),
    extensionRoutes(deps.extensions, operator),
  ];
  return routers as unknown as readonly Router<RequestState>[];
};
