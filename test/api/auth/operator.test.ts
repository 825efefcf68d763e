import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { CertificateCheck } from '../../../api/auth/client-cert.js';
import { createRateLimiter } from '../../../api/http/rate-limit.js';
import type { RateLimiter } from '../../../api/http/rate-limit.js';
import type { Env } from '../../../domain/config/env.js';
import { startOidcIssuer } from '../../../scripts/stack/oidc/issuer.js';
import type { OidcIssuer } from '../../../scripts/stack/oidc/issuer.js';
import { bearer, operatorApp } from '../../support/operator-app.js';
import type { OperatorApp } from '../../support/operator-app.js';

const ADMIN = 'break-glass-0123456789';
const ROLE = 'attestation-operator';
const PEM = `-----BEGIN CERTIFICATE-----\n${'QUJD'.repeat(20)}\n-----END CERTIFICATE-----\n`;
const certificate = (pem = PEM) => ({ 'x-client-cert': encodeURIComponent(pem) });
const unauthenticated = { status: 401, body: { detail: 'operator authentication required' } };
const forbidden = { status: 403, body: { detail: 'this identity is not an operator' } };
const breakGlass = { status: 200, body: { operatorCn: 'SYSTEM', identity: 'SYSTEM', method: 'break_glass' } };

let issuer: OidcIssuer;
beforeAll(async () => {
  issuer = await startOidcIssuer({
    accounts: [
      { name: 'ann', sub: 'sub-ann', roles: [ROLE] },
      { name: 'eve', sub: 'sub-eve', roles: ['viewer'] },
    ],
  });
});
afterAll(() => issuer.stop());

const open: OperatorApp[] = [];
afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});
const start = async (
  env: Env = {},
  check?: CertificateCheck,
  failures?: RateLimiter,
): Promise<OperatorApp> => {
  const app = await operatorApp(
    { SVC_OIDC_ISSUER: issuer.url, SVC_ADMIN_TOKEN: ADMIN, ...env },
    check,
    failures,
  );
  open.push(app);
  return app;
};
const checkOf =
  (commonName: string, ...organizationalUnits: string[]): CertificateCheck =>
  (pem) =>
    Promise.resolve(pem === PEM ? { commonName, organizationalUnits } : undefined);
/** Claims of a good token, to be made worse. */
const claims = (more: Record<string, unknown> = {}) => ({
  iss: issuer.url,
  aud: 'attestation-service',
  sub: 'sub-zoe',
  exp: Math.floor(Date.now() / 1000) + 300,
  realm_access: { roles: [ROLE] },
  ...more,
});

describe('an operator JWT', () => {
  it('of the real issuer is an operator by preferred_username, identified by issuer and sub', async () => {
    const app = await start();
    expect(await app.call(bearer(await issuer.tokenFor('ann')))).toMatchObject({
      status: 200,
      body: { operatorCn: 'ann', identity: `${issuer.url}#sub-ann`, method: 'jwt' },
    });
  });

  it('names its sub when it has no preferred_username, or one that the audit log must not hold', async () => {
    const app = await start();
    for (const username of [undefined, '', 7, 'SYSTEM', ' system ', 'a\u0000b', 'x'.repeat(257), '\ud800'])
      expect(
        await app.call(bearer(await issuer.sign(claims({ preferred_username: username })))),
      ).toMatchObject({
        status: 200,
        body: { operatorCn: 'sub-zoe', identity: `${issuer.url}#sub-zoe` },
      });
    expect(await app.call(bearer(await issuer.sign(claims({ sub: 'SYSTEM' }))))).toMatchObject(
      unauthenticated,
    );
  });

  it('without the role is 403', async () => {
    const app = await start();
    expect(await app.call(bearer(await issuer.tokenFor('eve')))).toMatchObject(forbidden);
    for (const access of [
      {},
      { roles: ROLE },
      { roles: { 0: ROLE } },
      [ROLE],
      null,
      { roles: [[ROLE]] },
      { roles: ['x'] },
    ])
      expect(await app.call(bearer(await issuer.sign(claims({ realm_access: access }))))).toMatchObject(
        forbidden,
      );
  });

  it('weakness 35: a role of another client does not count', async () => {
    const app = await start({ SVC_OIDC_CLIENT_ID: 'broker' });
    const by = async (resource_access: unknown) =>
      (await app.call(bearer(await issuer.sign(claims({ realm_access: undefined, resource_access })))))
        .status;
    expect(await by({ broker: { roles: [ROLE] } })).toBe(200);
    expect(await by({ other: { roles: [ROLE] } })).toBe(403);
    expect(await by({ broker: { roles: [] }, other: { roles: [ROLE] } })).toBe(403);
    expect(await by(JSON.parse(`{"__proto__": {"broker": {"roles": ["${ROLE}"]}}}`))).toBe(403);
    const open = await start();
    expect(
      await open.call(
        bearer(
          await issuer.sign(claims({ realm_access: undefined, resource_access: { any: { roles: [ROLE] } } })),
        ),
      ),
    ).toMatchObject({ status: 200 });
  });

  it('carries the configured role and audience', async () => {
    const app = await start({ SVC_OIDC_OPERATOR_ROLE: 'viewer', SVC_OIDC_AUDIENCE: 'attestation-service' });
    expect(await app.call(bearer(await issuer.tokenFor('eve')))).toMatchObject({ status: 200 });
    const other = await start({ SVC_OIDC_AUDIENCE: 'somebody-else' });
    expect(await other.call(bearer(await issuer.tokenFor('ann')))).toMatchObject(unauthenticated);
  });

  it('is not looked at when OIDC is switched off', async () => {
    const app = await start({ SVC_OIDC_ENABLED: 'false' });
    expect(await app.call(bearer(await issuer.tokenFor('ann')))).toMatchObject(unauthenticated);
    expect(await app.call(bearer(ADMIN))).toMatchObject(breakGlass);
  });
});

describe('a client certificate', () => {
  const env = { SVC_OIDC_ISSUER: '' };

  it('of an operator, from a trusted proxy, is its CN', async () => {
    const app = await start(env, checkOf('ben', 'operator'));
    expect(await app.call(certificate())).toMatchObject({
      status: 200,
      body: { operatorCn: 'ben', identity: 'cert:ben', method: 'certificate' },
    });
  });

  it('weakness 13: is not even looked at unless a trusted proxy sent it', async () => {
    let looked = 0;
    const app = await start({ ...env, SVC_TRUSTED_PROXIES: '192.0.2.0/24' }, () => {
      looked += 1;
      return Promise.resolve({ commonName: 'ben', organizationalUnits: ['operator'] });
    });
    expect(await app.call(certificate())).toMatchObject(unauthenticated);
    expect(await app.call({ ...certificate(), 'x-forwarded-for': '192.0.2.7' })).toMatchObject(
      unauthenticated,
    );
    expect(looked).toBe(0);
  });

  it.each([[[]], [['worker-app']], [['Operator']], [['operator', 'worker-app']], [['operator ']]])(
    'with OU %j is 403',
    async (units) => {
      const app = await start(env, checkOf('ben', ...units));
      expect(await app.call(certificate())).toMatchObject(forbidden);
    },
  );

  it('cannot take the name of the break-glass token', async () => {
    const app = await start(env, checkOf('SYSTEM', 'operator'));
    expect(await app.call(certificate())).toMatchObject(forbidden);
  });

  it.each([
    ['no PEM', 'hello'],
    ['broken percent encoding', '%E0%A4%A'],
    ['two certificates', encodeURIComponent(PEM + PEM)],
    ['two headers in one', `${encodeURIComponent(PEM)}, ${encodeURIComponent(PEM)}`],
    ['a private key', encodeURIComponent(PEM.replaceAll('CERTIFICATE', 'PRIVATE KEY'))],
    ['text around it', encodeURIComponent(`x${PEM}`)],
  ])('with %s is nobody', async (_what, value) => {
    const app = await start(env, checkOf('ben', 'operator'));
    expect(await app.call({ 'x-client-cert': value })).toMatchObject(unauthenticated);
  });
});

describe('the chain', () => {
  it('hands over from a token that fails to the certificate, and from both to break-glass', async () => {
    const app = await start({}, checkOf('ben', 'operator'));
    const eve = bearer(await issuer.tokenFor('eve'));
    const ann = bearer(await issuer.tokenFor('ann'));
    expect(await app.call({ ...eve, ...certificate() })).toMatchObject({ body: { operatorCn: 'ben' } });
    expect(await app.call({ ...bearer('nonsense'), ...certificate() })).toMatchObject({
      body: { operatorCn: 'ben' },
    });
    expect(await app.call({ ...ann, ...certificate() })).toMatchObject({ body: { operatorCn: 'ann' } });
    expect(await app.call({ ...bearer(ADMIN), ...certificate('bad') })).toMatchObject(breakGlass);
    expect(await app.call({ ...bearer(ADMIN), ...certificate() })).toMatchObject({
      body: { operatorCn: 'ben' },
    });
  });

  it('gives break-glass to a machine whose certificate is good but no operator', async () => {
    const app = await start({}, checkOf('node-1', 'worker-app'));
    expect(await app.call({ ...bearer(ADMIN), ...certificate() })).toMatchObject(breakGlass);
    expect(await app.call({ ...bearer('wrong'), ...certificate() })).toMatchObject(forbidden);
  });

  it('does not tell which method failed: one 401 with one body', async () => {
    const app = await start({ SVC_OIDC_AUDIENCE: 'else' }, checkOf('ben', 'operator'));
    const attempts = [
      {},
      bearer('wrong'),
      bearer(`${ADMIN}x`),
      bearer(ADMIN.slice(0, -1)),
      bearer(await issuer.tokenFor('ann')),
      certificate('bad'),
      { authorization: ADMIN },
      { authorization: `Basic ${ADMIN}` },
      { authorization: `Bearer ${ADMIN} ${ADMIN}` },
      { authorization: 'Bearer' },
    ];
    for (const headers of attempts) {
      const answer = await app.call(headers);
      expect(answer).toMatchObject(unauthenticated);
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
  });

  it.each(['Bearer', 'bearer', 'BEARER'])('takes the scheme as %s', async (scheme) => {
    const app = await start();
    expect(await app.call({ authorization: `${scheme} ${ADMIN}` })).toMatchObject(breakGlass);
  });

  it('weakness 34: any other Authorization header passes nowhere', async () => {
    const app = await start();
    for (const authorization of [
      'Bearer x',
      'x',
      'Basic YTpi',
      'Bearer null',
      'Bearer undefined',
      'Bearer  ',
    ])
      expect((await app.call({ authorization })).status).toBe(401);
  });

  it('is 503 when neither an issuer nor an admin token is configured, whatever is sent', async () => {
    const app = await start({ SVC_OIDC_ISSUER: '', SVC_ADMIN_TOKEN: '' }, checkOf('ben', 'operator'));
    for (const headers of [{}, bearer('x'), bearer(''), certificate()])
      expect(await app.call(headers)).toMatchObject({ status: 503 });
    const onlyIssuer = await start({ SVC_ADMIN_TOKEN: '' });
    expect(await onlyIssuer.call(bearer('undefined'))).toMatchObject(unauthenticated);
  });

  it('limits guessing per source: then a right token waits too, and others do not', async () => {
    const failures = createRateLimiter({ perMinute: 3, elapsed: () => 0 });
    const app = await start({}, undefined, failures);
    const from = (address: string, token: string) =>
      app.call({ ...bearer(token), 'x-forwarded-for': address });
    for (let n = 0; n < 3; n++) expect((await from('203.0.113.1', `guess-${n}`)).status).toBe(401);
    const limited = await from('203.0.113.1', ADMIN);
    expect(limited).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    expect(limited.headers['retry-after']).toBe('20');
    expect(await from('203.0.113.2', ADMIN)).toMatchObject(breakGlass);
    expect(await app.call(bearer(ADMIN))).toMatchObject(breakGlass);
  });

  it('writes who acted to the log, and no credential', async () => {
    const app = await start({}, checkOf('ben', 'operator'));
    const token = await issuer.tokenFor('ann');
    await app.call(bearer(token));
    await app.call(bearer(ADMIN));
    await app.call({ ...bearer(`${ADMIN}x`), ...certificate() });
    const text = app.log.lines.join('\n');
    expect(text).toContain('"operatorCn":"ann"');
    for (const secret of [token, ADMIN, 'QUJDQUJD']) expect(text).not.toContain(secret);
  });
});

describe('a key pair of somebody else', () => {
  it('signs nothing here, whatever the token says', async () => {
    const other = await startOidcIssuer();
    const app = await start();
    try {
      expect(await app.call(bearer(await other.tokenFor('ann')))).toMatchObject(unauthenticated);
      expect(await app.call(bearer(await other.sign(claims())))).toMatchObject(unauthenticated);
      const kid = issuer.keys()[0]!.kid;
      expect(await app.call(bearer(await other.sign(claims(), { kid })))).toMatchObject(unauthenticated);
    } finally {
      await other.stop();
    }
  });
});
