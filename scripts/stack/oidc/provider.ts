import type { ClientMetadata, Configuration, Provider, TokenEndpointGrantContext } from 'oidc-provider';
import type { SigningKey } from './keys.js';

/** Someone who can sign in at the local issuer. */
export interface Account {
  /** Sign-in name and `preferred_username`. */
  readonly name: string;
  /** The immutable `sub`; the name when absent. */
  readonly sub?: string;
  /** Stand in `realm_access.roles` (as a Keycloak realm does) and in `roles`. */
  readonly roles: readonly string[];
  readonly groups?: readonly string[];
}

export interface ProviderSetup {
  readonly issuer: string;
  readonly keys: readonly SigningKey[];
  readonly audience: string;
  readonly accounts: readonly Account[];
  readonly clients: readonly ClientMetadata[];
  readonly tokenSeconds: number;
}

/** Non-interactive sign-in for a command line on the same machine; only this local issuer knows it. */
export const LOCAL_SIGN_IN_GRANT = 'urn:keystead:grant-type:local-sign-in';
export const CLI_CLIENT_ID = 'keystead-cli';

const RESOURCE = 'urn:keystead:api';

const cliClient: ClientMetadata = {
  client_id: CLI_CLIENT_ID,
  token_endpoint_auth_method: 'none',
  grant_types: [LOCAL_SIGN_IN_GRANT],
  redirect_uris: [],
  response_types: [],
};

const subjectOf = (account: Account): string => account.sub ?? account.name;

const claimsOf = (account: Account) => ({
  preferred_username: account.name,
  name: account.name,
  realm_access: { roles: [...account.roles] },
  roles: [...account.roles],
  groups: [...(account.groups ?? [])],
});

const resourceServer = (setup: ProviderSetup) => ({
  scope: 'openid profile',
  audience: setup.audience,
  accessTokenTTL: setup.tokenSeconds,
  accessTokenFormat: 'jwt' as const,
  jwt: { sign: { alg: setup.keys[0]?.alg === 'ES256' ? ('ES256' as const) : ('RS256' as const) } },
});

const configurationOf = (setup: ProviderSetup): Configuration => {
  const bySubject = new Map(setup.accounts.map((account) => [subjectOf(account), account]));
  const byName = new Map(setup.accounts.map((account) => [account.name, account]));
  const find = (id: string) => bySubject.get(id) ?? byName.get(id);
  return {
    jwks: { keys: setup.keys.map((key) => ({ ...key })) },
    clients: [cliClient, ...setup.clients],
    claims: { openid: ['sub'], profile: ['preferred_username', 'name', 'roles', 'groups', 'realm_access'] },
    conformIdTokenClaims: false,
    cookies: { keys: setup.keys.map((key) => key.kid) },
    pkce: { required: () => true },
    ttl: { AccessToken: setup.tokenSeconds, Grant: 86_400, Interaction: 3_600, Session: 86_400 },
    findAccount: (_ctx, id) => {
      const account = find(id);
      if (account === undefined) return undefined;
      const accountId = subjectOf(account);
      return { accountId, claims: () => ({ sub: accountId, ...claimsOf(account) }) };
    },
    extraTokenClaims: (_ctx, token) => {
      const account = 'accountId' in token && token.accountId ? find(token.accountId) : undefined;
      return account && claimsOf(account);
    },
    features: {
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => resourceServer(setup),
      },
    },
  };
};

const localSignIn =
  (setup: ProviderSetup) =>
  async (ctx: TokenEndpointGrantContext<{ username?: string }>): Promise<void> => {
    const { client, params, provider } = ctx.oidc;
    const account = setup.accounts.find(({ name }) => name === params.username);
    if (account === undefined) {
      ctx.status = 400;
      ctx.body = { error: 'invalid_grant', error_description: 'nobody has this name' };
      return;
    }
    const accountId = subjectOf(account);
    const grant = new provider.Grant({ accountId, clientId: client.clientId });
    grant.addOIDCScope('openid');
    const token = new provider.AccessToken({
      accountId,
      client,
      grantId: await grant.save(),
      gty: LOCAL_SIGN_IN_GRANT,
      scope: 'openid',
      resourceServer: new provider.ResourceServer(RESOURCE, resourceServer(setup)),
    });
    ctx.oidc.entity('Account', { accountId, claims: () => ({ sub: accountId }) });
    const accessToken = await token.save();
    ctx.body = { access_token: accessToken, expires_in: token.expiration, token_type: 'Bearer' };
  };

/** The import and the constructor greet with advice for production servers, of no use to an issuer on loopback. */
const quietly = async <T>(work: () => Promise<T> | T): Promise<T> => {
  const { warn, info } = console;
  console.warn = () => undefined;
  console.info = () => undefined;
  try {
    return await work();
  } finally {
    Object.assign(console, { warn, info });
  }
};

export const createProvider = async (setup: ProviderSetup): Promise<Provider> =>
  quietly(async () => {
    const { Provider } = await import('oidc-provider');
    const provider = new Provider(setup.issuer, configurationOf(setup));
    provider.registerGrantType(LOCAL_SIGN_IN_GRANT, localSignIn(setup), ['username']);
    return provider;
  });
