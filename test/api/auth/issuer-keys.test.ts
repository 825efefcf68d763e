import { afterEach, describe, expect, it } from '@jest/globals';
import { createOutbound } from '../../../activities/adapters/http.js';
import { createIssuerKeySource } from '../../../api/auth/issuer-keys.js';
import { createTokenCheck } from '../../../api/auth/oidc.js';
import { startOidcIssuer } from '../../../scripts/stack/oidc/issuer.js';
import { recordingLog } from '../../support/log.js';
import { bearer, operatorApp } from '../../support/operator-app.js';
import {
  DISCOVERY,
  forge,
  jsonAnswer,
  keyPair,
  rs256,
  startStaticIssuer,
} from '../../support/static-issuer.js';
import type { StaticIssuer } from '../../support/static-issuer.js';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});
const closing = <T extends { stop: () => Promise<unknown> }>(item: T): T => (
  open.push(() => item.stop()),
  item
);

const rsa = keyPair('rsa', 'rsa-1');
const tokenOf = (issuer: StaticIssuer, key = rsa, sub = 'ann'): string =>
  forge(
    { alg: 'RS256', kid: key.jwk.kid },
    { iss: issuer.url, sub, exp: Math.floor(Date.now() / 1000) + 300 },
    rs256(key.privateKey),
  );

/** The token check of an issuer, with a clock for its caches that the test moves. */
const checkOf = (issuerUrl: string, timeoutMs = 2_000) => {
  let elapsed = 0;
  const log = recordingLog();
  const outbound = createOutbound({ policy: { trustedOrigins: [issuerUrl] } });
  open.push(() => outbound.close());
  const keys = createIssuerKeySource({ issuer: issuerUrl, outbound, log, timeoutMs, elapsed: () => elapsed });
  const check = createTokenCheck({ issuer: issuerUrl, audience: undefined, keys });
  return {
    log,
    keys,
    pass: (ms: number) => void (elapsed += ms),
    check: async (token: string) => (await check(token))?.sub,
  };
};

describe('keys of a real issuer', () => {
  it('follow its rotation in the middle of a run: new tokens pass at once, forgotten keys no more', async () => {
    const issuer = closing(await startOidcIssuer());
    const app = await operatorApp({ SVC_OIDC_ISSUER: issuer.url });
    open.push(() => app.close());
    const status = async (token: string) => (await app.call(bearer(token))).status;
    const first = await issuer.tokenFor('ann');
    expect(await status(first)).toBe(200);
    await issuer.rotateKeys({ alg: 'ES256' });
    const second = await issuer.tokenFor('ann');
    expect(await status(second)).toBe(200);
    expect(await status(first)).toBe(200);
    await issuer.rotateKeys({ forget: true });
    expect(await status(await issuer.tokenFor('ann'))).toBe(200);
    expect(await status(first)).toBe(401);
    expect(await status(second)).toBe(401);
  });

  it('are fetched once, however many requests come', async () => {
    const issuer = closing(await startOidcIssuer());
    const app = await operatorApp({ SVC_OIDC_ISSUER: issuer.url });
    open.push(() => app.close());
    const tokens = await Promise.all(Array.from({ length: 10 }, () => issuer.tokenFor('ann')));
    const answers = await Promise.all(
      tokens.flatMap((token) => [app.call(bearer(token)), app.call(bearer(token))]),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(issuer.jwksRequests()).toBe(1);
  });

  it('go on while it is down, and break-glass works when they were never had', async () => {
    const issuer = await startOidcIssuer();
    const env = { SVC_OIDC_ISSUER: issuer.url, SVC_ADMIN_TOKEN: 'break-glass-token' };
    const warm = await operatorApp(env);
    const cold = await operatorApp(env);
    open.push(
      () => warm.close(),
      () => cold.close(),
    );
    const [first, second] = [await issuer.tokenFor('ann'), await issuer.tokenFor('ben')];
    expect((await warm.call(bearer(first))).status).toBe(200);
    await issuer.stop();
    expect((await warm.call(bearer(second))).status).toBe(200);
    expect((await cold.call(bearer(second))).status).toBe(401);
    expect((await cold.call(bearer('break-glass-token'))).status).toBe(200);
    expect((await cold.call(bearer('nonsense'))).status).toBe(401);
  });
});

describe('caching', () => {
  it('fetches old keys again beside the request, keeps them a day when that fails, then no longer', async () => {
    const issuer = await startStaticIssuer([rsa.jwk]);
    const { check, pass, log } = checkOf(issuer.url);
    expect(await check(tokenOf(issuer))).toBe('ann');
    pass(6 * 60_000);
    expect(await check(tokenOf(issuer))).toBe('ann');
    await issuer.stop();
    pass(23 * 3_600_000);
    expect(await check(tokenOf(issuer, rsa, 'ben'))).toBe('ben');
    pass(2 * 3_600_000);
    expect(await check(tokenOf(issuer))).toBeUndefined();
    expect(log.lines.join('\n')).toContain('keys of the OIDC issuer cannot be fetched');
  });

  it('lets unknown key ids cause five fetches, then one each ten seconds', async () => {
    const issuer = closing(await startStaticIssuer([rsa.jwk]));
    const { check, pass } = checkOf(issuer.url);
    const unknown = (n: number) => tokenOf(issuer, { ...rsa, jwk: { ...rsa.jwk, kid: `no-${n}` } });
    for (let n = 0; n < 50; n++) expect(await check(unknown(n))).toBeUndefined();
    const jwks = () => issuer.requests.filter((path) => path === '/jwks').length;
    expect(jwks()).toBe(5);
    expect(await check(tokenOf(issuer))).toBe('ann');
    pass(10_000);
    for (let n = 0; n < 50; n++) expect(await check(unknown(n))).toBeUndefined();
    expect(jwks()).toBe(6);
  });

  it('forgets what it verified when the keys changed', async () => {
    const issuer = closing(await startStaticIssuer([rsa.jwk]));
    const other = keyPair('rsa', 'rsa-2');
    const { check } = checkOf(issuer.url);
    const token = tokenOf(issuer);
    expect(await check(token)).toBe('ann');
    issuer.answer('/jwks', jsonAnswer({ keys: [other.jwk] }));
    expect(await check(tokenOf(issuer, other))).toBe('ann');
    expect(await check(token)).toBeUndefined();
  });
});

describe('hostile or broken issuers have no keys', () => {
  it.each<[string, (issuer: StaticIssuer) => void]>([
    [
      'discovery for another issuer',
      (i) => i.answer(DISCOVERY, jsonAnswer({ issuer: 'https://else', jwks_uri: `${i.url}/jwks` })),
    ],
    ['no jwks_uri', (i) => i.answer(DISCOVERY, jsonAnswer({ issuer: i.url }))],
    [
      'a jwks_uri on a private address elsewhere',
      (i) => i.answer(DISCOVERY, jsonAnswer({ issuer: i.url, jwks_uri: 'http://127.0.0.1:1/jwks' })),
    ],
    [
      'a file as jwks_uri',
      (i) => i.answer(DISCOVERY, jsonAnswer({ issuer: i.url, jwks_uri: 'file:///etc/passwd' })),
    ],
    ['a redirect', (i) => i.answer('/jwks', (res) => res.writeHead(302, { location: '/jwks2' }).end())],
    ['an error', (i) => i.answer('/jwks', (res) => res.writeHead(500).end('{"keys":[]}'))],
    ['no JSON', (i) => i.answer('/jwks', (res) => res.end('<html>'))],
    ['no keys', (i) => i.answer('/jwks', jsonAnswer({}))],
    [
      '10,000 keys',
      (i) =>
        i.answer(
          '/jwks',
          jsonAnswer({ keys: Array.from({ length: 10_000 }, (_, n) => ({ ...rsa.jwk, kid: `k${n}` })) }),
        ),
    ],
    ['an answer without end', (i) => i.answer('/jwks', (res) => res.write('{"keys":['))],
    ['silence', (i) => i.answer(DISCOVERY, () => undefined)],
  ])('%s', async (_what, spoil) => {
    const issuer = closing(await startStaticIssuer([rsa.jwk]));
    spoil(issuer);
    const { check, log } = checkOf(issuer.url, 300);
    expect(await check(tokenOf(issuer))).toBeUndefined();
    expect(log.lines.join('\n')).toContain('keys of the OIDC issuer cannot be fetched');
  });

  it('1,000 keys are searched', async () => {
    const many = Array.from({ length: 999 }, (_, n) => ({ kty: 'EC', crv: 'P-256', kid: `k${n}` }));
    const issuer = closing(await startStaticIssuer([...many, rsa.jwk]));
    expect(await checkOf(issuer.url).check(tokenOf(issuer))).toBe('ann');
  });

  it('an issuer that writes itself with a slash at its end is taken by that name, and only that', async () => {
    const issuer = closing(await startStaticIssuer([rsa.jwk]));
    issuer.answer(DISCOVERY, jsonAnswer({ issuer: `${issuer.url}/`, jwks_uri: `${issuer.url}/jwks` }));
    const { check } = checkOf(issuer.url);
    expect(await check(tokenOf({ ...issuer, url: `${issuer.url}/` }))).toBe('ann');
    expect(await check(tokenOf(issuer))).toBeUndefined();
  });
});
