import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import type { OidcIssuer } from '../../../scripts/stack/oidc/issuer.js';
import { startOidcIssuer } from '../../../scripts/stack/oidc/issuer.js';

const discover = async (issuer: OidcIssuer) => {
  const response = await fetch(`${issuer.url}/.well-known/openid-configuration`);
  return (await response.json()) as { issuer: string; jwks_uri: string };
};

const verify = async (issuer: OidcIssuer, token: string) => {
  const { jwks_uri } = await discover(issuer);
  return jwtVerify(token, createRemoteJWKSet(new URL(jwks_uri)), {
    issuer: issuer.url,
    audience: 'attestation-service',
  });
};

describe('local OpenID issuer', () => {
  let issuer: OidcIssuer;
  beforeAll(async () => {
    issuer = await startOidcIssuer();
  });
  afterAll(() => issuer.stop());

  it('gives each operator a JWT access token with the operator role', async () => {
    const ann = await verify(issuer, await issuer.tokenFor('ann'));
    const ben = await verify(issuer, await issuer.tokenFor('ben'));
    expect(ann.protectedHeader.alg).toBe('RS256');
    expect(ann.payload).toMatchObject({
      preferred_username: 'ann',
      realm_access: { roles: ['attestation-operator'] },
    });
    expect(ben.payload['preferred_username']).toBe('ben');
    expect(ben.payload.sub).not.toBe(ann.payload.sub);
  });

  it('has no token for a stranger', async () => {
    await expect(issuer.tokenFor('eve')).rejects.toThrow('no token for eve: nobody has this name');
  });

  it('names itself exactly in the discovery document', async () => {
    expect((await discover(issuer)).issuer).toBe(issuer.url);
  });

  it('signs what a test hands it', async () => {
    const token = await issuer.sign({
      iss: issuer.url,
      aud: 'attestation-service',
      sub: 'x',
      exp: 9_999_999_999,
    });
    expect((await verify(issuer, token)).payload.sub).toBe('x');
  });

  it('rotates its keys: old tokens stay good until the old key is forgotten', async () => {
    const old = await issuer.tokenFor('ann');
    await issuer.rotateKeys({ alg: 'ES256' });
    const fresh = await issuer.tokenFor('ann');
    expect(decodeProtectedHeader(fresh).alg).toBe('ES256');
    await verify(issuer, old);
    await verify(issuer, fresh);
    await issuer.rotateKeys({ forget: true });
    await expect(verify(issuer, old)).rejects.toThrow('no applicable key');
  });
});

it('keeps its keys over a restart, readable by the owner only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'keystead-oidc-'));
  const keysFile = join(folder, 'keys.json');
  const first = await startOidcIssuer({ keysFile });
  const token = await first.tokenFor('ann');
  await first.stop();
  const second = await startOidcIssuer({ keysFile, port: Number(new URL(first.url).port) });
  try {
    expect((await verify(second, token)).payload['preferred_username']).toBe('ann');
    expect((await stat(keysFile)).mode & 0o777).toBe(0o600);
  } finally {
    await second.stop();
    await rm(folder, { recursive: true });
  }
});
