import type Router from '@koa/router';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, jwtVerify, SignJWT } from 'jose';
import type { JWK } from 'jose';
import type { Store } from './store.js';

const TOKEN_SECONDS = 3600;

export interface LocalIdentity {
  /** True for a bearer token that this authority issued and that is still good. */
  readonly accepts: (authorization: string) => Promise<boolean>;
  /** An access token of tenant `tenant` for `audience`, for callers of the vending API. */
  readonly issue: (tenant: string, audience: string, roles?: readonly string[]) => Promise<string>;
  readonly mount: (router: Router) => void;
}

interface IdentityOptions {
  readonly store: Store;
  readonly origin: () => string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A directory tenant: client-credentials tokens (RS256), discovery document and key set. */
export const createIdentity = async (options: IdentityOptions): Promise<LocalIdentity> => {
  const jwk = await signingKey(options.store);
  const key = await importJWK(jwk, 'RS256');
  const good = new Map<string, number>();
  const issue: LocalIdentity['issue'] = (tenant, audience, roles = []) =>
    new SignJWT({ tid: tenant, roles })
      .setProtectedHeader({ alg: 'RS256', kid: jwk.kid ?? '', typ: 'JWT' })
      .setIssuer(`${options.origin()}/${tenant}/v2.0`)
      .setAudience(audience)
      .setSubject(options.clientId)
      .setIssuedAt()
      .setExpirationTime(`${TOKEN_SECONDS}s`)
      .sign(key);
  const accepts: LocalIdentity['accepts'] = async (authorization) => {
    const token = /^Bearer (\S+)$/.exec(authorization)?.[1];
    if (token === undefined) return false;
    const until = good.get(token) ?? (await expiryOf(token, jwk));
    good.set(token, until);
    return until > Date.now();
  };
  return { accepts, issue, mount: (router) => mount(router, options, jwk, issue) };
};

const signingKey = async (store: Store): Promise<JWK> => {
  const kept = store.get<JWK>('identity', 'key');
  if (kept !== undefined) return kept;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = await exportJWK(privateKey);
  const made = { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'RS256', use: 'sig' };
  store.put('identity', 'key', made);
  return made;
};

const expiryOf = async (token: string, jwk: JWK): Promise<number> => {
  try {
    const { payload } = await jwtVerify(token, await importJWK(publicPart(jwk), 'RS256'));
    return (payload.exp ?? 0) * 1000;
  } catch {
    return 0;
  }
};

const publicPart = ({ kty, n, e, kid, alg, use }: JWK): JWK => ({ kty, n, e, kid, alg, use }) as JWK;

const mount = (
  router: Router,
  { origin, clientId, clientSecret }: IdentityOptions,
  jwk: JWK,
  issue: LocalIdentity['issue'],
): void => {
  router.get('/:tenant/v2.0/.well-known/openid-configuration', (ctx) => {
    const base = `${origin()}/${ctx.params['tenant'] ?? ''}`;
    ctx.body = {
      issuer: `${base}/v2.0`,
      authorization_endpoint: `${base}/oauth2/v2.0/authorize`,
      token_endpoint: `${base}/oauth2/v2.0/token`,
      jwks_uri: `${base}/discovery/v2.0/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['pairwise'],
      id_token_signing_alg_values_supported: ['RS256'],
    };
  });
  router.get('/:tenant/discovery/v2.0/keys', (ctx) => {
    ctx.body = { keys: [publicPart(jwk)] };
  });
  router.post('/:tenant/oauth2/v2.0/token', async (ctx) => {
    const form = ctx.request.body as Readonly<Record<string, string>>;
    if (form['client_id'] !== clientId || form['client_secret'] !== clientSecret) {
      ctx.status = 401;
      ctx.body = {
        error: 'invalid_client',
        error_description: 'AADSTS7000215: Invalid client secret provided.',
      };
      return;
    }
    const audience = (form['scope'] ?? '').replace(/\/?\.default$/, '');
    const token = await issue(ctx.params['tenant'] ?? '', audience);
    ctx.body = {
      token_type: 'Bearer',
      expires_in: TOKEN_SECONDS,
      ext_expires_in: TOKEN_SECONDS,
      access_token: token,
    };
  });
};
