import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { explainEk } from '../../../activities/crypto/ek-explain.js';
import { loadTrustBundle } from '../../../activities/crypto/trust-bundle.js';
import { softwareEk } from '../../support/ek.js';
import type { HttpClient } from '../../support/http.js';
import { httpClient } from '../../support/http.js';
import type { SoftTpm } from '../../support/swtpm.js';
import { startSoftTpm } from '../../support/swtpm.js';
import { tpmMachine } from '../../support/tpm-machine.js';
import type { TpmMachine } from '../../support/tpm-machine.js';
import { tpmVectors } from '../../support/tpm-vectors.js';
import { ADMIN_TOKEN, brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

/** Everything on: high assurance, quotes required, makers verified. */
let tpm: SoftTpm;
let world: BrokerWorld;
let makers: string;
let node: HttpClient;
let admin: HttpClient;
let machine: TpmMachine;
beforeAll(async () => {
  tpm = await startSoftTpm();
  makers = await mkdtemp(join(tmpdir(), 'keystead-makers-'));
  await mkdir(join(makers, 'not-a-file'));
  await writeFile(join(makers, 'maker.pem'), tpm.makerCertificates.join(''));
  await writeFile(join(makers, 'README.txt'), 'not a certificate');
  world = await brokerWorld({
    settings: {
      SVC_HIGH_ASSURANCE: 'true',
      SVC_REQUIRE_QUOTE: 'true',
      SVC_TPM_VERIFY_CA: 'true',
      SVC_TPM_CA_BUNDLE_DIR: makers,
    },
  });
  const tls = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.7' };
  node = httpClient(world.urls[0] ?? '', tls);
  admin = httpClient(world.urls[0] ?? '', { ...tls, authorization: `Bearer ${ADMIN_TOKEN}` });
  machine = await tpmMachine(node, tpm, 'ecdsa-p384');
});
afterAll(async () => {
  await Promise.all([tpm.stop(), world.close(), rm(makers, { recursive: true })]);
});

const requestCert = (more: Record<string, unknown> = {}) =>
  node.post(`/api/v1/machines/${machine.machineId}/request-cert`, {
    ek_fingerprint: machine.identity.ek_fingerprint,
    ...more,
  });

it('only certificates of trusted makers register; the root is shown', async () => {
  const { body } = await admin.get(`/api/v1/machines/${machine.machineId}`);
  expect(body.ek_root).toContain('swtpm-localca-rootca');
  const foreign = tpmVectors.eks.rsa;
  const stranger = { ek_fingerprint: foreign.sha384_der, ek_cert_pem: foreign.cert_der_b64 };
  for (const path of ['register', 'self-register', 'attest']) {
    expect((await node.post(`/api/v1/${path}`, stranger)).status).toBe(422);
    expect((await node.post(`/api/v1/${path}`, softwareEk())).status).toBe(422);
  }
  expect((await admin.post('/api/v1/machines/import', softwareEk())).status).toBe(422);
});

it('attests by quote only, and delivers by envelope only', async () => {
  expect((await machine.attest()).status).toBe(422);
  expect((await machine.attest(await machine.quoted('sha256:0'))).text).toContain('ak_required');
  expect((await machine.activate()).status).toBe(200);
  await admin.post(`/api/v1/machines/${machine.machineId}/approve`, { role: 'worker-app' });
  expect((await machine.attest(await machine.signedNonce())).text).toContain('quote_required');
  const attested = await machine.attest(await machine.quoted('sha256:0'));
  expect([attested.status, attested.body.status]).toEqual([200, 'attested']);
  const path = `/api/v1/config/${String(attested.body.config_token)}`;
  expect((await node.get(path)).status).toBe(406);
  const sealed = await node.get(path, { accept: 'application/vnd.svc.config.encrypted+json' });
  expect([sealed.status, sealed.body.format]).toEqual([200, 'ek-import-aes256gcm-v1']);
});

it('gives no private key in the clear, and no certificate without the AK', async () => {
  expect((await requestCert()).status).toBe(403);
  const inClear = await requestCert(await machine.signedNonce());
  expect([inClear.status, inClear.text]).toEqual([403, expect.stringContaining('key_in_clear')]);
  const args = [
    'req',
    '-new',
    '-nodes',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-384',
    '-subj',
    '/CN=x',
  ];
  const { stdout } = await promisify(execFile)('openssl', [...args, '-keyout', '/dev/null']);
  const issued = await requestCert({ ...(await machine.signedNonce()), csr_pem: stdout });
  expect([issued.status, issued.body.enrollment_key_pem]).toEqual([200, '']);
  expect((await admin.get(`/api/v1/machines/${machine.machineId}/offline-bundle`)).status).toBe(403);
  const plainHttp = httpClient(world.urls[0] ?? '', { authorization: `Bearer ${ADMIN_TOKEN}` });
  expect((await plainHttp.get('/api/v1/machines')).status).toBe(403);
});

it('a machine reports its wipe by its AK, and nobody in its place', async () => {
  await admin.post(`/api/v1/machines/${machine.machineId}/revoke`, { wipe: true });
  const path = `/api/v1/machines/${machine.machineId}/wipe-complete`;
  const { nonce_id } = await machine.challenge();
  expect((await node.post(path, { nonce_id, nonce_signature: 'AAAA' })).status).toBe(403);
  expect((await node.post(path, {})).status).toBe(401);
  const done = await node.post(path, await machine.signedNonce());
  expect(done.status).toBe(200);
  expect(done.body.wipe_completed_at).not.toBeNull();
});

it('ek-explain names the maker, the platform certificate trap and an unknown maker', async () => {
  const bundle = await loadTrustBundle(makers);
  expect(bundle.problems).toEqual([expect.stringContaining('README.txt')]);
  const good = await explainEk(await tpm.ekCertificate('rsa'), 'cert', bundle, new Date());
  expect([good.accepted, good.lines.join('\n')]).toEqual([true, expect.stringContaining('chains to')]);
  const platform = Buffer.from(tpmVectors.platform_cert_der_b64, 'base64');
  const trap = await explainEk(platform, 'cert', bundle, new Date());
  expect([trap.accepted, trap.lines[0]]).toEqual([false, expect.stringContaining('platform certificate')]);
  const foreign = Buffer.from(tpmVectors.eks.rsa.cert_der_b64, 'base64');
  const unknown = await explainEk(foreign, 'cert', bundle, new Date('2027-01-01'));
  expect([unknown.accepted, unknown.lines.at(-1)]).toEqual([false, expect.stringContaining('refused')]);
});
