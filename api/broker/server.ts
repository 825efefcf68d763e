import Router from '@koa/router';
import type { Client } from '@temporalio/client';
import type { Knex } from 'knex';
import type Koa from 'koa';
import { createOutbound } from '../../activities/adapters/http.js';
import type { Outbound } from '../../activities/adapters/http.js';
import {
  createClientCertificateCheck,
  createOwnCertificateCheck,
} from '../../activities/broker/certificate-check.js';
import { createConfigTokens } from '../../activities/broker/config-tokens.js';
import { createEkReader } from '../../activities/broker/ek-reader.js';
import { createJudgeEvidence } from '../../activities/broker/evidence.js';
import { createMakerCheck } from '../../activities/broker/maker-check.js';
import { createImageSource } from '../../activities/broker/image-source.js';
import { createMemoryNonces } from '../../activities/broker/memory-nonces.js';
import type { NonceStore } from '../../activities/broker/nonces.js';
import { createPostgresNonces } from '../../activities/broker/postgres-nonces.js';
import { createRoleConfigs } from '../../activities/broker/role-configs.js';
import type { Authority } from '../../activities/crypto/authority.js';
import { createWebhookOutbound } from '../../activities/broker/webhook-outbound.js';
import type { KeyRing } from '../../activities/crypto/key-ring.js';
import { checkCli } from '../../activities/iac/deployments/cli-check.js';
import { pendingMigrations } from '../../db/migrate.js';
import { pendingConfig } from '../../domain/broker/node-config.js';
import { systemClock } from '../../domain/clock.js';
import type { Clock } from '../../domain/clock.js';
import { hardened } from '../../domain/config/svc.js';
import type { SvcConfig } from '../../domain/config/svc.js';
import type { Logger } from '../../domain/logger.js';
import { createBrokerOperatorAuth, issuerOrigins } from '../auth/broker-operators.js';
import { requireOperator } from '../auth/operator.js';
import { createApp } from '../http/app.js';
import { jsonBody } from '../http/body.js';
import { requireHttps } from '../http/high-assurance.js';
import { rateLimit } from '../http/rate-limit.js';
import { createReadiness } from '../http/readiness.js';
import type { Readiness } from '../http/readiness.js';
import type { RequestState } from '../http/state.js';
import { iacExtension } from '../iac/extension.js';
import { createIacServer } from '../iac/server.js';
import { attestationNodeRouters, attestationOperatorRouters } from './compose-attestation.js';
import { operatorRouters } from './compose-operator.js';
import { vaultExtension, vaultRouters } from './compose-vault.js';
import { webhookExtension, webhookRouter } from './compose-webhooks.js';
import { createBrokerMetrics, metricsExtension } from './compose-metrics.js';
import { publicRouters } from './compose-public.js';
import type { BrokerParts } from './parts.js';
import { healthRoutes } from './routes/health.js';
import { metricsRoutes } from './routes/metrics.js';

/** What a gateway stands on. */
export interface GatewayDeps {
  readonly config: SvcConfig;
  readonly db: Knex;
  readonly temporal: Client;
  readonly log: Logger;
  readonly keyRing: KeyRing;
  readonly authority: Authority;
  readonly clock?: Clock;
}

export interface BrokerGateway {
  readonly app: Koa<RequestState>;
  readonly close: () => Promise<void>;
}

/** The broker gateway as a Koa app; it listens nowhere yet. */
export const createBrokerGateway = (given: GatewayDeps): BrokerGateway => {
  const deps = { ...given, config: hardened(given.config) };
  const { config, log } = deps;
  const images = createImageSource(config);
  const issuer = createOutbound({ policy: { trustedOrigins: issuerOrigins(config) } });
  const parts = createParts(deps, images.imageFor, issuer);
  const body = jsonBody();
  const outbound = createWebhookOutbound(config);
  const vault = vaultRouters(parts);
  const operators = new Router<RequestState>({ prefix: '/api/v1' });
  operators.use(parts.operator, body);
  for (const router of [
    ...operatorRouters(parts),
    ...attestationOperatorRouters(parts),
    ...vault.operator,
    webhookRouter(parts, outbound),
  ])
    operators.use(router.routes());
  const nodes = new Router<RequestState>({ prefix: '/api/v1' });
  nodes.use(rateLimit({ perMinute: config.SVC_RATE_LIMIT_PER_MINUTE }), body);
  for (const router of [...publicRouters(parts), ...attestationNodeRouters(parts), ...vault.node])
    nodes.use(router.routes());
  const iac = createIacServer({
    config,
    db: deps.db,
    keyRing: deps.keyRing,
    clock: deps.clock ?? systemClock,
  });
  const app = createApp({
    log,
    trustedProxies: config.SVC_TRUSTED_PROXIES,
    observe: parts.metrics.observeRequest,
    middleware: [
      ...(config.SVC_HIGH_ASSURANCE ? [requireHttps] : []),
      healthRoutes(brokerReadiness(deps)).routes(),
      metricsRoutes(parts.metrics.registry).routes(),
      ...(iac === undefined ? [] : [iac]),
      nodes.routes(),
      operators.routes(),
      nodes.allowedMethods(),
      operators.allowedMethods(),
    ],
  });
  return {
    app,
    close: async () => {
      await images.close();
      await issuer.close();
      await outbound.close();
    },
  };
};

const createParts = (deps: GatewayDeps, imageFor: BrokerParts['imageFor'], issuer: Outbound): BrokerParts => {
  const { config, db, log } = deps;
  const clock = deps.clock ?? systemClock;
  const checkOwnCertificate = createOwnCertificateCheck(db, deps.authority, clock);
  const roleConfigs = createRoleConfigs({
    dir: config.SVC_CONFIG_CACHE_DIR,
    installerImage: config.SVC_INSTALLER_IMAGE,
  });
  const nonces = createNonces(config, db, clock);
  return {
    ...deps,
    clock,
    imageFor,
    checkOwnCertificate,
    tokens: createConfigTokens(deps.keyRing, config.SVC_SERVICE_URL),
    nonces,
    metrics: createBrokerMetrics({ db, activeSessions: () => nonces.outstanding() }),
    operator: requireOperator(
      createBrokerOperatorAuth(config, {
        outbound: issuer,
        log,
        checkCertificate: createClientCertificateCheck(checkOwnCertificate),
      }),
    ),
    judgeEvidence: createJudgeEvidence({
      ...{ db, log, requireNonce: config.SVC_REQUIRE_NONCE, requireQuote: config.SVC_REQUIRE_QUOTE },
      failureThreshold: config.SVC_ATTEST_FAILURE_THRESHOLD,
    }),
    readEk: createEkReader(
      config.SVC_TPM_VERIFY_CA ? createMakerCheck(config.SVC_TPM_CA_BUNDLE_DIR, clock, log) : undefined,
    ),
    renderConfig: ({ role, machineId, ekFingerprint, hostname, assignedIp }, files) =>
      roleConfigs.render(role, {
        ...{ machineId, ekFingerprint, hostname, assignedIp },
        ...(files === undefined ? {} : { files }),
      }),
    pendingConfig: pendingConfig(config.SVC_SERVICE_URL),
    extensions: [
      metricsExtension,
      vaultExtension,
      webhookExtension,
      ...(config.SVC_IAC_ENABLED ? [iacExtension] : []),
    ],
  };
};

const createNonces = (config: SvcConfig, db: Knex, clock: Clock): NonceStore => {
  const capacity = config.SVC_NONCE_CAPACITY;
  return config.SVC_NONCE_STORE === 'postgres'
    ? createPostgresNonces({ db, capacity })
    : createMemoryNonces({ capacity, clock });
};

const brokerReadiness = ({ config, db, temporal, keyRing }: GatewayDeps): Readiness =>
  createReadiness({
    ...(config.SVC_IAC_ENABLED ? { iac_cli: checkCli(config.SVC_IAC_CLI) } : {}),
    database: async () => {
      const missing = await pendingMigrations(db);
      if (missing.length > 0) throw new Error(`migrations missing: ${missing.join(', ')}`);
      return undefined;
    },
    temporal: async () => {
      await temporal.connection.workflowService.getSystemInfo({});
      return undefined;
    },
    service_key: () =>
      Promise.resolve(
        keyRing.ephemeral
          ? {
              degraded:
                'random key of this process: set SVC_SHARED_SECRET_MASTER_KEY, or secrets die with it',
            }
          : undefined,
      ),
  });
