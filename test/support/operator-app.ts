import Router from '@koa/router';
import { createBrokerOperatorAuth, issuerOrigins } from '../../api/auth/broker-operators.js';
import type { CertificateCheck } from '../../api/auth/client-cert.js';
import { operatorOf, requireOperator } from '../../api/auth/operator.js';
import type { RateLimiter } from '../../api/http/rate-limit.js';
import type { RequestState } from '../../api/http/state.js';
import { createOutbound } from '../../activities/adapters/http.js';
import { brokerSettings } from '../../domain/config/broker.js';
import { parseSettings } from '../../domain/config/env.js';
import type { Env } from '../../domain/config/env.js';
import { httpApp } from './http-app.js';
import type { HttpAnswer, HttpApp } from './http-app.js';
import { recordingLog } from './log.js';

export interface OperatorApp {
  readonly log: HttpApp['log'];
  /** GET of the one operator route, which answers with the operator. */
  readonly call: (headers?: Record<string, string>) => Promise<HttpAnswer>;
  readonly close: () => Promise<void>;
}

/** A real HTTP server with one operator route, configured by the broker's own settings. */
export const operatorApp = async (
  env: Env,
  checkCertificate?: CertificateCheck,
  failures?: RateLimiter,
): Promise<OperatorApp> => {
  const config = parseSettings(brokerSettings, env, { readFile: () => '' });
  const outbound = createOutbound({ policy: { trustedOrigins: issuerOrigins(config) } });
  const authenticate = createBrokerOperatorAuth(config, {
    outbound,
    log: recordingLog(),
    checkCertificate: checkCertificate ?? (() => Promise.resolve(undefined)),
  });
  const router = new Router<RequestState>();
  router.get('/operator', requireOperator(authenticate, failures), (ctx) => {
    ctx.body = operatorOf(ctx);
  });
  const app = await httpApp([router.routes() as never], config.SVC_TRUSTED_PROXIES);
  return {
    log: app.log,
    call: (headers = {}) => app.get('/operator', headers),
    close: async () => {
      await app.close();
      await outbound.close();
    },
  };
};

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
