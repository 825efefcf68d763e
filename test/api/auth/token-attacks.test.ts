import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bearer, operatorApp } from '../../support/operator-app.js';
import type { OperatorApp } from '../../support/operator-app.js';
import { es256, forge, hmac, keyPair, rs256, startStaticIssuer } from '../../support/static-issuer.js';
import type { StaticIssuer } from '../../support/static-issuer.js';

const ROLE = 'attestation-operator';
const rsa = keyPair('rsa', 'rsa-1');
const ec = keyPair('ec', 'ec-1');
const foreign = keyPair('rsa', 'rsa-1');
const spki = rsa.publicKey.export({ type: 'spki', format: 'pem' }) as string;

let issuer: StaticIssuer;
let sink: StaticIssuer;
let app: OperatorApp;
beforeAll(async () => {
  issuer = await startStaticIssuer([rsa.jwk, ec.jwk]);
  sink = await startStaticIssuer([foreign.jwk]);
  app = await operatorApp({ SVC_OIDC_ISSUER: issuer.url, SVC_OIDC_AUDIENCE: 'broker' });
});
afterAll(async () => {
  await app.close();
  await issuer.stop();
  await sink.stop();
});

const now = () => Math.floor(Date.now() / 1000);
const header = (more: object = {}) => ({ alg: 'RS256', kid: 'rsa-1', ...more });
const claims = (more: object = {}) => ({
  iss: issuer.url,
  aud: 'broker',
  sub: 'ann',
  exp: now() + 300,
  realm_access: { roles: [ROLE] },
  ...more,
});
const good = rs256(rsa.privateKey);
const statusOf = async (token: string): Promise<number> => (await app.call(bearer(token))).status;
/** The attack is refused, and the same token without it passes: so it is the attack that was seen. */
const expectRefused = async (attack: string): Promise<void> => {
  expect(await statusOf(attack)).toBe(401);
  expect(await statusOf(forge(header(), claims(), good))).toBe(200);
};

describe('algorithm and key', () => {
  it.each(['none', 'None', 'NONE', 'nOnE'])('alg %s', async (alg) => {
    await expectRefused(forge({ alg }, claims(), () => ''));
    await expectRefused(forge({ alg, kid: 'rsa-1' }, claims(), good));
  });

  it.each(['HS256', 'HS384', 'HS512'])('RS256 made %s with the public key', async (alg) => {
    const hash = `sha${alg.slice(2)}` as 'sha256';
    const der = rsa.publicKey.export({ type: 'spki', format: 'der' });
    for (const key of [spki, spki.trim(), der, JSON.stringify(rsa.jwk), String(rsa.jwk.n)])
      await expectRefused(forge(header({ alg }), claims(), hmac(hash, key)));
  });

  it.each<[string, unknown]>([
    ['a path', '../../../../dev/null'],
    ['SQL', "x' UNION SELECT 'AA"],
    ['empty', ''],
    ['huge', 'k'.repeat(9_000)],
    ['a number', 7],
    ['an object', { toString: 'rsa-1' }],
    ['null', null],
    ['__proto__', '__proto__'],
  ])('kid: %s', async (_what, kid) => {
    await expectRefused(forge(header({ kid }), claims(), rs256(foreign.privateKey)));
    expect(await statusOf(forge(header({ kid }), claims(), good))).toBe(401);
  });

  it.each(['jku', 'x5u', 'jwk', 'x5c'])('a key of the sender in %s, which nobody fetches', async (name) => {
    const value = { jku: `${sink.url}/jwks`, x5u: `${sink.url}/x5u`, jwk: foreign.jwk, x5c: ['AAAA'] }[name];
    const attack = header({ [name]: value });
    await expectRefused(forge(attack, claims(), rs256(foreign.privateKey)));
    await expectRefused(forge({ ...attack, kid: undefined }, claims(), rs256(foreign.privateKey)));
    expect(sink.requests).toEqual([]);
  });

  it('another alg than the key is for', async () => {
    await expectRefused(forge(header({ alg: 'ES256' }), claims(), es256(ec.privateKey)));
    await expectRefused(forge(header({ alg: 'PS256' }), claims(), good));
    await expectRefused(forge(header({ alg: 'EdDSA' }), claims(), good));
    expect(await statusOf(forge({ alg: 'ES256', kid: 'ec-1' }, claims(), es256(ec.privateKey)))).toBe(200);
  });

  it('empty signature, r = s = 0, r = s = order', async () => {
    const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
    for (const signature of ['', 'AA', Buffer.alloc(64), Buffer.concat([order, order]), Buffer.alloc(256)]) {
      await expectRefused(forge(header(), claims(), () => signature));
      await expectRefused(forge({ alg: 'ES256', kid: 'ec-1' }, claims(), () => signature));
    }
  });

  it('the key of another tenant', async () => {
    await expectRefused(forge(header(), claims({ iss: sink.url }), rs256(foreign.privateKey)));
    await expectRefused(forge(header(), claims(), rs256(foreign.privateKey)));
    expect(sink.requests).toEqual([]);
  });
});

describe('header', () => {
  it.each<[string, object]>([
    ['an unknown crit', { crit: ['x'], x: 1 }],
    ['an empty crit', { crit: [] }],
    ['crit that is no list', { crit: 'exp' }],
    ['an unencoded payload', { crit: ['b64'], b64: false }],
    ['a logout token', { typ: 'logout+jwt' }],
    ['a DPoP proof', { typ: 'dpop+jwt' }],
    ['a security event', { typ: 'secevent+jwt' }],
    ['compression', { typ: 'JWE', zip: 'DEF' }],
  ])('%s', async (_what, more) => {
    await expectRefused(forge(header(more), claims(), good));
  });

  it.each(['JWT', 'at+jwt', 'AT+JWT', 'application/at+jwt'])('typ %s is an access token', async (typ) => {
    expect(await statusOf(forge(header({ typ }), claims(), good))).toBe(200);
  });

  it('a nested JWT, and other shapes that are no JWS', async () => {
    const inner = forge(header(), claims(), good);
    await expectRefused(forge(header({ cty: 'JWT' }), inner, good));
    const [h, p, s] = inner.split('.');
    for (const shape of [
      `${h}.${p}`,
      `${h}.${p}.${s}.`,
      `${h}.${p}.${s}.x.y`,
      `.${p}.${s}`,
      `${h}..${s}`,
      '..',
      '.',
      `"${inner}"`,
    ])
      await expectRefused(shape);
    await expectRefused(JSON.stringify({ protected: h, payload: p, signature: s }).replaceAll(' ', ''));
  });

  it.each<[string, string]>([
    ['a list', '[]'],
    ['null', 'null'],
    ['text', '"x"'],
    ['no JSON', '{'],
    ['deep nesting', `{"alg":"RS256","kid":"rsa-1","x":${'['.repeat(2000)}${']'.repeat(2000)}`],
  ])('that is %s', async (_what, text) => {
    await expectRefused(forge(text, claims(), good));
  });
});

describe('claims', () => {
  it.each<[string, () => object]>([
    ['iss with a slash more', () => ({ iss: `${issuer.url}/` })],
    ['iss in another case', () => ({ iss: issuer.url.toUpperCase() })],
    ['iss as a list', () => ({ iss: [issuer.url] })],
    ['no iss', () => ({ iss: undefined })],
    ['no aud', () => ({ aud: undefined })],
    ['another aud', () => ({ aud: 'brokers' })],
    ['a list without our aud', () => ({ aud: ['a', 'b'] })],
    ['aud as an object', () => ({ aud: { 0: 'broker' } })],
    ['exp in the past', () => ({ exp: now() - 60 })],
    ['no exp', () => ({ exp: undefined })],
    ['exp as text', () => ({ exp: String(now() + 300) })],
    ['exp as a list', () => ({ exp: [now() + 300] })],
    ['exp null', () => ({ exp: null })],
    ['nbf in the future', () => ({ nbf: now() + 60 })],
    ['nbf as text', () => ({ nbf: '0' })],
    ['no sub', () => ({ sub: undefined })],
    ['an empty sub', () => ({ sub: '' })],
    ['sub as a number', () => ({ sub: 7 })],
    ['sub with NUL', () => ({ sub: 'a\u0000b' })],
    ['a sub of 257 characters', () => ({ sub: 's'.repeat(257) })],
  ])('%s', async (_what, more) => {
    await expectRefused(forge(header(), claims(more()), good));
  });

  it('exp 1e400, which JSON reads as for ever', async () => {
    const text = JSON.stringify(claims()).replace(/"exp":\d+/, '"exp":1e400');
    await expectRefused(forge(header(), text, good));
  });

  it('duplicate claims: the last one counts, as RFC 7519 section 4 allows', async () => {
    const twice = (first: string, last: string) =>
      JSON.stringify(claims()).replace(/"aud":"broker"/, `"aud":"${first}","aud":"${last}"`);
    await expectRefused(forge(header(), twice('broker', 'else'), good));
    expect(await statusOf(forge(header(), twice('else', 'broker'), good))).toBe(200);
  });

  it('aud as a list with ours, exp as a float, a clock five seconds apart: fine', async () => {
    for (const more of [
      { aud: ['x', 'broker'] },
      { exp: now() + 300.5 },
      { nbf: now() + 3 },
      { exp: now() - 2 },
    ])
      expect(await statusOf(forge(header(), claims(more), good))).toBe(200);
  });
});

describe('encoding and size', () => {
  it('padded and other base64', async () => {
    const token = forge(header(), claims(), good);
    const [h, p, s] = token.split('.') as [string, string, string];
    await expectRefused(`${h}=.${p}.${s}`);
    await expectRefused(`${h}.${p}=.${s}`);
    await expectRefused(`${h}.${p}.${s.slice(0, -2)}`);
    await expectRefused(`${h}.${p}!.${s}`);
  });

  it('a payload or header changed after signing', async () => {
    const [h, p, s] = forge(header(), claims({ realm_access: {} }), good).split('.') as [
      string,
      string,
      string,
    ];
    const richer = Buffer.from(JSON.stringify(claims())).toString('base64url');
    await expectRefused(`${h}.${richer}.${s}`);
    const other = Buffer.from(JSON.stringify(header({ x: 1 }))).toString('base64url');
    await expectRefused(`${other}.${p}.${s}`);
  });

  it('a token of 1 MB never reaches us, one of 15 KB is looked at', async () => {
    const big = forge(header(), claims({ x: 'y'.repeat(1_000_000) }), good);
    const answer = await app.call(bearer(big)).catch(() => ({ status: 431 }));
    expect(answer.status).toBe(431);
    expect(await statusOf(forge(header(), claims({ x: 'y'.repeat(9_000) }), good))).toBe(200);
  });

  it('asks the issuer for nothing when a token is not even its own', async () => {
    const before = issuer.requests.length;
    for (const token of [
      'x',
      'a.b.c',
      forge(header(), claims({ iss: 'https://else' }), good),
      forge({ alg: 'none' }, claims(), () => ''),
    ])
      expect(await statusOf(token)).toBe(401);
    expect(issuer.requests).toHaveLength(before);
  });
});
