import { rootCertificates } from 'node:tls';
import { readFileSync } from 'node:fs';
import { ClientSecretCredential, ManagedIdentityCredential } from '@azure/identity';
import type { TokenCredential } from '@azure/core-auth';
import type { TlsSettings } from '@azure/core-rest-pipeline';
import type { VendingConfig } from '../../../domain/config/vending.js';

/** Authorities that the SDK knows; any other one is taken at its word instead of asking Microsoft about it. */
const KNOWN_AUTHORITIES = new Set([
  'https://login.microsoftonline.com',
  'https://login.microsoftonline.us',
  'https://login.chinacloudapi.cn',
]);

/** What every client of the management API is made with. */
export interface ArmAccess {
  readonly credential: TokenCredential;
  readonly options: {
    readonly endpoint: string;
    readonly credentialScopes: string[];
    /** Workflow activities do the retrying, so that attempts and waits can be seen. */
    readonly retryOptions: { readonly maxRetries: 0 };
    readonly redirectOptions: { readonly maxRetries: 0 };
    readonly tlsOptions?: TlsSettings;
  };
}

/** PEM of everything to trust: the public authorities and the configured ones. Undefined when nothing is configured. */
export const trustedAuthorities = (caFile: string): string[] | undefined =>
  caFile === '' ? undefined : [...rootCertificates, readFileSync(caFile, 'utf8')];

export const connectArm = (config: VendingConfig, ca: string[] | undefined): ArmAccess => {
  const endpoint = config.VENDING_CLOUD_ENDPOINT;
  const tls = ca === undefined ? {} : { tlsOptions: { ca: ca as never } };
  return {
    credential: createCredential(config, tls),
    options: {
      endpoint,
      credentialScopes: [config.VENDING_CLOUD_SCOPE || `${endpoint}/.default`],
      retryOptions: { maxRetries: 0 },
      redirectOptions: { maxRetries: 0 },
      ...tls,
    },
  };
};

/** Service principal when one is configured, else managed identity. */
const createCredential = (config: VendingConfig, tls: { tlsOptions?: TlsSettings }): TokenCredential => {
  const { VENDING_CLOUD_CLIENT_ID: clientId, VENDING_CLOUD_CLIENT_SECRET: secret } = config;
  if (clientId === '' || secret === undefined) return new ManagedIdentityCredential();
  return new ClientSecretCredential(config.VENDING_CLOUD_TENANT_ID, clientId, secret, {
    authorityHost: config.VENDING_CLOUD_AUTHORITY_HOST,
    disableInstanceDiscovery: !KNOWN_AUTHORITIES.has(config.VENDING_CLOUD_AUTHORITY_HOST),
    retryOptions: { maxRetries: 0 },
    ...tls,
  });
};

/** The same identity with another token scope: some SDK clients have theirs written in. */
export const withScope = (credential: TokenCredential, scope: string): TokenCredential => ({
  getToken: (_scopes, options) => credential.getToken(scope, options),
});
