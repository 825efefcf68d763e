import type { Outbound } from '../../activities/adapters/http.js';
import type { BrokerConfig } from '../../domain/config/broker.js';
import type { Logger } from '../../domain/logger.js';
import type { CertificateCheck } from './client-cert.js';
import { createIssuerKeySource } from './issuer-keys.js';
import { createTokenCheck } from './oidc.js';
import { createOperatorAuth } from './operator.js';
import type { AuthenticateOperator, OperatorAuthOptions } from './operator.js';

type Settings = Pick<
  BrokerConfig,
  | 'SVC_ADMIN_TOKEN'
  | 'SVC_OIDC_ENABLED'
  | 'SVC_OIDC_ISSUER'
  | 'SVC_OIDC_AUDIENCE'
  | 'SVC_OIDC_CLIENT_ID'
  | 'SVC_OIDC_OPERATOR_ROLE'
>;

interface Deps {
  /** Calls the issuer; its policy must trust the issuer's origin (see `issuerOrigins`). */
  readonly outbound: Outbound;
  readonly checkCertificate: CertificateCheck;
  readonly log: Logger;
}

/** Origins that an outbound client for the issuer may call although they are private or http: a setting names them. */
export const issuerOrigins = (config: Settings): readonly string[] =>
  config.SVC_OIDC_ISSUER === undefined ? [] : [config.SVC_OIDC_ISSUER];

/** The broker's operator authentication as its settings say. */
export const createBrokerOperatorAuth = (config: Settings, deps: Deps): AuthenticateOperator => {
  const oidc = oidcOf(config, deps);
  return createOperatorAuth({
    adminToken: config.SVC_ADMIN_TOKEN,
    checkCertificate: deps.checkCertificate,
    ...(oidc === undefined ? {} : { oidc }),
  });
};

const oidcOf = (config: Settings, { log, outbound }: Deps): OperatorAuthOptions['oidc'] => {
  const { SVC_OIDC_AUDIENCE: audience, SVC_OIDC_ISSUER: issuer } = config;
  if (issuer === undefined) return undefined;
  const keys = createIssuerKeySource({ issuer, outbound, log });
  return {
    check: config.SVC_OIDC_ENABLED ? createTokenCheck({ issuer, audience, keys }) : undefined,
    role: config.SVC_OIDC_OPERATOR_ROLE,
    clientId: config.SVC_OIDC_CLIENT_ID,
  };
};
