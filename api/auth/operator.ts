import type { Middleware } from 'koa';
import type { JWTPayload } from 'jose';
import { AppError } from '../../domain/errors.js';
import { createSecretCheck } from '../http/constant-equal.js';
import { createRateLimiter, rateLimited } from '../http/rate-limit.js';
import type { RateLimiter } from '../http/rate-limit.js';
import { limitedSource } from '../http/source.js';
import type { RequestState } from '../http/state.js';
import { certificateInHeader } from './client-cert.js';
import type { CertificateCheck } from './client-cert.js';
import type { TokenCheck } from './oidc.js';
import type { Operator } from './operator-identity.js';

/** What a request brings along to show who sends it. */
interface OperatorCredentials {
  readonly authorization: string;
  /** `X-Client-Cert`, empty unless a trusted proxy sent it. */
  readonly clientCertificate: string;
}

export type AuthenticateOperator = (credentials: OperatorCredentials) => Promise<Operator>;

export interface OperatorAuthOptions {
  /** Undefined when no issuer is configured. */
  readonly oidc?: {
    /** Undefined when SVC_OIDC_ENABLED is false. */
    readonly check: TokenCheck | undefined;
    readonly role: string;
    /** Client whose roles count; undefined: every client's. */
    readonly clientId: string | undefined;
  };
  /** Undefined when no break-glass token is configured. */
  readonly adminToken: string | undefined;
  readonly checkCertificate: CertificateCheck;
}

/** A method's verdict: who it is, somebody who is no operator, or nobody. */
type Verdict = Operator | 'not_an_operator' | undefined;

const BREAK_GLASS: Operator = { operatorCn: 'SYSTEM', identity: 'SYSTEM', method: 'break_glass' };

/**
 * JWT, client certificate, break-glass, in this order; a method that fails hands over to the next. Only when all have
 * failed is the answer chosen: 403 for somebody known who is no operator, else one 401 that does not tell which failed.
 */
export const createOperatorAuth = (options: OperatorAuthOptions): AuthenticateOperator => {
  const { adminToken, checkCertificate, oidc } = options;
  const isAdminToken = adminToken === undefined ? () => false : createSecretCheck(adminToken);

  const methods: readonly ((credentials: OperatorCredentials) => Promise<Verdict> | Verdict)[] = [
    async ({ authorization }) => {
      const token = bearerToken(authorization);
      const claims = token === undefined ? undefined : await oidc?.check?.(token);
      if (claims === undefined || oidc === undefined) return undefined;
      return hasRole(claims, oidc.role, oidc.clientId) ? operatorOfToken(claims) : 'not_an_operator';
    },
    async ({ clientCertificate }) => {
      const pem = certificateInHeader(clientCertificate);
      const certificate = pem === undefined ? undefined : await checkCertificate(pem);
      if (certificate === undefined) return undefined;
      return operatorOfCertificate(certificate.commonName, certificate.organizationalUnits);
    },
    ({ authorization }) => {
      const token = bearerToken(authorization);
      return token !== undefined && isAdminToken(token) ? BREAK_GLASS : undefined;
    },
  ];

  return async (credentials) => {
    if (oidc === undefined && adminToken === undefined)
      throw new AppError('unavailable', 'operator authentication is not configured', {
        code: 'auth_not_configured',
      });
    let known = false;
    for (const method of methods) {
      const verdict = await method(credentials);
      if (verdict === 'not_an_operator') known = true;
      else if (verdict !== undefined) return verdict;
    }
    if (known) throw new AppError('forbidden', 'this identity is not an operator');
    throw new AppError('unauthenticated', 'operator authentication required');
  };
};

/** Failed attempts a minute and source; a right credential is not even looked at beyond it. */
const FAILURES_PER_MINUTE = 120;

/** Lets only operators pass, and keeps who it is in `ctx.state.operator`. Guessing is limited per source address. */
export const requireOperator = (
  authenticate: AuthenticateOperator,
  failures: RateLimiter = createRateLimiter({ perMinute: FAILURES_PER_MINUTE }),
): Middleware<RequestState> => {
  return async (ctx, next) => {
    // A router asks before it reads the body, each route asks for itself: one check a request is enough.
    if (ctx.state.operator !== undefined) {
      await next();
      return;
    }
    const source = limitedSource(ctx.state);
    const wait = source === undefined ? 0 : failures.wait(source);
    if (wait > 0) throw rateLimited(wait);
    const operator = await authenticate({
      authorization: ctx.get('Authorization'),
      clientCertificate: ctx.state.viaProxy ? ctx.get('X-Client-Cert') : '',
    }).catch((error: unknown) => {
      if (source !== undefined && isRefusal(error)) failures.take(source);
      throw error;
    });
    ctx.state.operator = operator;
    const { method, operatorCn } = operator;
    ctx.state.logFields = { ...ctx.state.logFields, operatorCn, method };
    await next();
  };
};

const isRefusal = (error: unknown): boolean => error instanceof AppError && error.kind === 'unauthenticated';

/** The operator that `requireOperator` let pass. */
export const operatorOf = (ctx: { readonly state: RequestState }): Operator => {
  if (ctx.state.operator === undefined) throw new Error('route without requireOperator');
  return ctx.state.operator;
};

/** RFC 6750, section 2.1: one token, scheme in any case. */
const bearerToken = (authorization: string): string | undefined =>
  /^bearer +(\S+) *$/i.exec(authorization)?.[1];

const operatorOfToken = (claims: JWTPayload): Verdict => {
  const subject = name(claims.sub);
  if (subject === undefined || claims.iss === undefined) return undefined;
  return {
    operatorCn: name(claims['preferred_username']) ?? subject,
    identity: `${claims.iss}#${subject}`,
    method: 'jwt',
  };
};

const operatorOfCertificate = (commonName: string, units: readonly string[]): Verdict => {
  const cn = name(commonName);
  if (units.length !== 1 || units[0] !== 'operator' || cn === undefined) return 'not_an_operator';
  return { operatorCn: cn, identity: `cert:${cn}`, method: 'certificate' };
};

/** Text that the audit log can keep, and that nobody takes for the break-glass token. */
const name = (claim: unknown): string | undefined =>
  typeof claim === 'string' &&
  claim !== '' &&
  claim.length <= 256 &&
  claim.isWellFormed() &&
  !/\p{Cc}/u.test(claim) &&
  claim.trim().toUpperCase() !== BREAK_GLASS.operatorCn
    ? claim
    : undefined;

/** `realm_access.roles`, then `resource_access.<client>.roles`: the roles of other clients do not count. */
const hasRole = (claims: JWTPayload, role: string, clientId: string | undefined): boolean => {
  if (listsRole(claims['realm_access'], role)) return true;
  const clients = claims['resource_access'];
  if (!isObject(clients)) return false;
  return Object.entries(clients).some(
    ([client, access]) => (clientId === undefined || client === clientId) && listsRole(access, role),
  );
};

const listsRole = (access: unknown, role: string): boolean =>
  isObject(access) && Array.isArray(access['roles']) && access['roles'].includes(role);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
