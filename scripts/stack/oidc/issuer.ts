import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import type { JWTPayload } from 'jose';
import { importJWK, SignJWT } from 'jose';
import type { ClientMetadata } from 'oidc-provider';
import type { SigningAlgorithm, SigningKey } from './keys.js';
import { generateSigningKey, loadSigningKeys, storeSigningKeys } from './keys.js';
import type { Account } from './provider.js';
import { CLI_CLIENT_ID, createProvider, LOCAL_SIGN_IN_GRANT } from './provider.js';

export const OPERATOR_ROLE = 'attestation-operator';
export const DEFAULT_AUDIENCE = 'attestation-service';

/** Two operators, so that dual control can be tried. */
export const OPERATORS: readonly Account[] = [
  { name: 'ann', sub: '6f1d0f3e-ann', roles: [OPERATOR_ROLE] },
  { name: 'ben', sub: '0c9b7a52-ben', roles: [OPERATOR_ROLE] },
];

export interface OidcIssuerOptions {
  /** TCP port on 127.0.0.1; 0 (default) takes a free one. */
  readonly port?: number;
  /** JSON file that keeps the signing keys over a restart; in memory when absent. */
  readonly keysFile?: string;
  readonly audience?: string;
  readonly accounts?: readonly Account[];
  readonly clients?: readonly ClientMetadata[];
  readonly tokenSeconds?: number;
}

export interface OidcIssuer {
  /** The issuer identifier, e.g. `http://127.0.0.1:40001`; discovery is below it. */
  readonly url: string;
  /** The private keys in use, newest first: the newest signs, all of them are in the JWKS. */
  readonly keys: () => readonly SigningKey[];
  /** An access token (JWT) for the account, from the token endpoint. */
  readonly tokenFor: (name: string) => Promise<string>;
  /** Signs any claims with the newest key; `header` overrides the protected header. For tests of hostile tokens. */
  readonly sign: (claims: JWTPayload, header?: Readonly<Record<string, unknown>>) => Promise<string>;
  /** Puts a new key in front. With `forget` the old ones leave the JWKS at once. */
  readonly rotateKeys: (options?: { alg?: SigningAlgorithm; forget?: boolean }) => Promise<void>;
  /** How often the JWKS was asked for. */
  readonly jwksRequests: () => number;
  readonly stop: () => Promise<void>;
}

/** An access token for a local operator from the token endpoint of a running local issuer. */
export const fetchToken = async (issuerUrl: string, name: string): Promise<string> => {
  const response = await fetch(`${issuerUrl}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: LOCAL_SIGN_IN_GRANT,
      client_id: CLI_CLIENT_ID,
      username: name,
    }),
  });
  const body = (await response.json()) as { access_token?: string; error_description?: string };
  if (body.access_token === undefined)
    throw new Error(`no token for ${name}: ${body.error_description ?? `status ${response.status}`}`);
  return body.access_token;
};

const listen = async (port: number): Promise<Server> => {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
};

const sign = async (
  key: SigningKey | undefined,
  claims: JWTPayload,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> => {
  if (key === undefined) throw new Error('the issuer has no key');
  const jwt = new SignJWT(claims).setProtectedHeader({
    alg: key.alg,
    kid: key.kid,
    typ: 'at+jwt',
    ...header,
  });
  return jwt.sign(await importJWK(key, key.alg));
};

/** A real OpenID provider on loopback (discovery, JWKS, token endpoint, browser sign-in) for `npm start` and tests. */
export const startOidcIssuer = async (options: OidcIssuerOptions = {}): Promise<OidcIssuer> => {
  let keys = await loadSigningKeys(options.keysFile);
  const server = await listen(options.port ?? 0);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let jwksRequests = 0;
  const handlerOf = async () =>
    (
      await createProvider({
        issuer: url,
        keys,
        audience: options.audience ?? DEFAULT_AUDIENCE,
        accounts: options.accounts ?? OPERATORS,
        clients: options.clients ?? [],
        tokenSeconds: options.tokenSeconds ?? 3_600,
      })
    ).callback();
  let handle = await handlerOf();
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/jwks') === true) jwksRequests += 1;
    void handle(request, response);
  });
  return {
    url,
    keys: () => keys,
    tokenFor: (name) => fetchToken(url, name),
    sign: (claims, header) => sign(keys[0], claims, header),
    rotateKeys: async ({ alg = 'RS256', forget = false } = {}) => {
      keys = [await generateSigningKey(alg), ...(forget ? [] : keys)];
      await storeSigningKeys(options.keysFile, keys);
      handle = await handlerOf();
    },
    jwksRequests: () => jwksRequests,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
