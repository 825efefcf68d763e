import Router from '@koa/router';
import { createBrokerOperatorAuth, issuerOrigins } from '../../api/auth/broker-operators.js';
import type { CertificateCheck } from '../../api/auth/client-cert.js';
import { operatorOf, requireOperator } from '../../api/auth/operator.js';
import { createApp } from '../../api/http/app.js';
import { serve } from '../../api/http/serve.js';
import type { RequestState } from '../../api/http/state.js';
import { createOutbound } from '../../activities/adapters/http.js';
import { brokerSettings } from '../../domain/config/broker.js';
import { parseSettings } from '../../domain/config/env.js';
import type { Env } from '../../domain/config/env.js';
import type { Logger } from '../../domain/logger.js';

/** A logger whose lines a test can look at. */
export const recordingLog = (): Logger & { readonly lines: string[] } => {
  const lines: string[] = [];
  const line = (fields: object, message: string): void => {
    lines.push(
      `${message} ${JSON.stringify(fields, (_key, value: unknown) => (value instanceof Error ? value.stack : value))}`,
    );
  };
  return { lines, debug: line, info: line, warn: line, error: line };
};

export interface OperatorApp {
  readonly log: ReturnType<typeof recordingLog>;
  /** GET of the one operator route, which answers with the operator. */
  readonly call: (headers?: Record<string, string>) => Promise<OperatorAnswer>;
  readonly close: () => Promise<void>;
}
export interface OperatorAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A real HTTP server with one operator route, configured by the broker's own settings. */
export const operatorApp = async (env: Env, checkCertificate?: CertificateCheck): Promise<OperatorApp> => {
  const config = parseSettings(brokerSettings, env, { readFile: () => '' });
  const log = recordingLog();
  const outbound = createOutbound({ policy: { trustedOrigins: issuerOrigins(config) } });
  const authenticate = createBrokerOperatorAuth(config, {
    outbound,
    log,
    checkCertificate: checkCertificate ?? (() => Promise.resolve(undefined)),
  });
  const router = new Router<RequestState>();
  router.get('/operator', requireOperator(authenticate), (ctx) => {
    ctx.body = operatorOf(ctx);
  });
  const app = createApp({
    log,
    trustedProxies: config.SVC_TRUSTED_PROXIES,
    middleware: [router.routes() as never],
  });
  const server = await serve(app, { host: '127.0.0.1', port: 0, portSetting: 'none', log });
  return {
    log,
    call: async (headers = {}) => {
      const response = await fetch(`http://127.0.0.1:${server.port}/operator`, { headers });
      return { status: response.status, headers: response.headers, body: await response.json() };
    },
    close: async () => {
      await server.close();
      await outbound.close();
    },
  };
};

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
