import { execFile } from 'node:child_process';
import {
  constants,
  createPrivateKey,
  generateKeyPairSync,
  privateDecrypt,
  sign,
  X509Certificate,
} from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NodeIdentity } from '../../support/ek.js';
import { softwareEk } from '../../support/ek.js';
import { tpmVectors } from '../../support/tpm-vectors.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

const run = promisify(execFile);
let world: BrokerWorld;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'keystead-pki-'));
  world = await brokerWorld();
});
afterAll(async () => {
  await world.close();
  await rm(dir, { recursive: true });
});

const csr = async (subject = '/OU=operator/CN=root'): Promise<{ pem: string; key: string }> => {
  const args = [
    'req',
    '-new',
    '-nodes',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-384',
    '-subj',
    subject,
  ];
  const { stdout } = await run('openssl', [...args, '-keyout', join(dir, 'k.pem')]);
  return { pem: stdout, key: await readFile(join(dir, 'k.pem'), 'utf8') };
};

interface Node {
  readonly ek: NodeIdentity;
  readonly machineId: string;
}
const registered = async (): Promise<Node> => {
  const ek = softwareEk();
  const { body } = await world.node.post('/api/v1/register', ek);
  return { ek, machineId: body.machine_id as string };
};
const requestCert = ({ ek, machineId }: Node, more: Record<string, unknown> = {}) =>
  world.node.post(`/api/v1/machines/${machineId}/request-cert`, {
    ek_fingerprint: ek.ek_fingerprint,
    ...more,
  });
const act = (node: Node, name: string, body: unknown = {}) =>
  world.admin.post(`/api/v1/machines/${node.machineId}/${name}`, body);

const signText = (keyPem: string, message: Buffer): string =>
  sign('sha384', message, createPrivateKey(keyPem)).toString('base64');
const enrollByText = (certPem: string, keyPem: string, nonce = 'a text of at least thirty-two characters') =>
  world.node.post('/api/v1/machines/enroll', {
    cert_pem: certPem,
    nonce,
    nonce_signature: signText(keyPem, Buffer.from(nonce)),
  });
const enrollByChallenge = async (certPem: string, keyPem: string) => {
  const { nonce } = (await world.node.get('/api/v1/attest/challenge')).body as { nonce: string };
  const body = { cert_pem: certPem, nonce, nonce_signature: signText(keyPem, Buffer.from(nonce, 'base64')) };
  return { body, answer: await world.node.post('/api/v1/machines/enroll', body) };
};

describe('request-cert', () => {
  it('gives a certificate of the profile, with a key in the clear as specified', async () => {
    const node = await registered();
    const { body, status, headers } = await requestCert(node);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(Object.keys(body).sort()).toEqual([
      'enrollment_ca_pem',
      'enrollment_cert_pem',
      'enrollment_key_encrypted_b64',
      'enrollment_key_pem',
      'machine_id',
      'message',
      'role',
      'valid_days',
    ]);
    const certificate = new X509Certificate(body.enrollment_cert_pem);
    expect(certificate.subject).toBe(`OU=worker-app\nCN=${node.machineId}`);
    expect(certificate.subjectAltName).toBe(`URI:urn:svc:ek:${node.ek.ek_fingerprint}`);
    expect(certificate.checkPrivateKey(createPrivateKey(body.enrollment_key_pem))).toBe(true);
    expect(certificate.verify(new X509Certificate(body.enrollment_ca_pem).publicKey)).toBe(true);
    expect([body.enrollment_key_encrypted_b64, body.valid_days]).toEqual(['', 30]);
  });

  it('wraps the PKCS#8 DER for an RSA-2048 key: it fits', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    const { body } = await requestCert(await registered(), { wrapping_key_pem: pem });
    expect(body.enrollment_key_pem).toBe('');
    const wrapped = Buffer.from(body.enrollment_key_encrypted_b64, 'base64');
    const padding = constants.RSA_PKCS1_OAEP_PADDING;
    const der = privateDecrypt({ key: privateKey, padding, oaepHash: 'sha256' }, wrapped);
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    expect(new X509Certificate(body.enrollment_cert_pem).checkPrivateKey(key)).toBe(true);
  });

  it('certifies the key of a request, and takes neither name nor unit from it', async () => {
    const node = await registered();
    const { pem, key } = await csr();
    const { body } = await requestCert(node, { csr_pem: pem });
    expect([body.enrollment_key_pem, body.enrollment_key_encrypted_b64]).toEqual(['', '']);
    const certificate = new X509Certificate(body.enrollment_cert_pem);
    expect(certificate.subject).toBe(`OU=worker-app\nCN=${node.machineId}`);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
  });

  it('refuses another EK, other statuses, and wrapping keys that are none', async () => {
    const node = await registered();
    expect((await requestCert({ ...node, ek: softwareEk() })).status).toBe(403);
    expect((await requestCert(node, { ...softwareEk() })).status).toBe(403);
    expect((await requestCert(node, { ...node.ek })).status).toBe(200);
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const ecPem = publicKey.export({ type: 'spki', format: 'pem' });
    expect((await requestCert(node, { wrapping_key_pem: ecPem })).status).toBe(422);
    expect((await requestCert(node, { csr_pem: 'x' })).status).toBe(422);
    expect((await requestCert(node, { wrapping_key_pem: 'x', csr_pem: 'x' })).status).toBe(422);
    expect((await requestCert({ ...node, machineId: crypto.randomUUID() })).status).toBe(404);
    const pending = softwareEk();
    const { body } = await world.node.post('/api/v1/self-register', pending);
    expect((await requestCert({ ek: pending, machineId: body.machine_id })).status).toBe(403);
    await act(node, 'revoke');
    expect((await requestCert(node)).status).toBe(403);
  });

  it('a second certificate is a renewal, which the outbox tells', async () => {
    const node = await registered();
    await requestCert(node);
    const told = () =>
      world.db('outbox').where({ key: node.machineId }).whereRaw(`payload->>'event' = 'node.cert_renewed'`);
    expect(await told()).toHaveLength(0);
    await requestCert(node);
    expect(await told()).toHaveLength(1);
    expect(await world.db('certificates').where({ machine_id: node.machineId })).toHaveLength(2);
  });
});

describe('enroll', () => {
  it('accepts a challenge once, or a text; and changes nothing', async () => {
    const node = await registered();
    const { body } = await requestCert(node);
    const { enrollment_cert_pem: cert, enrollment_key_pem: key } = body;
    const { answer, body: sent } = await enrollByChallenge(cert, key);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      valid: true,
      machine_id: node.machineId,
      role: 'worker-app',
      status: 'registered',
    });
    expect((await world.node.post('/api/v1/machines/enroll', sent)).status).toBe(409);
    expect((await enrollByText(cert, key)).status).toBe(200);
    expect((await enrollByText(cert, key, 'too short')).status).toBe(422);
  });

  it('403 for a foreign key, a foreign CA, an operator, and a signature over the other form', async () => {
    const node = await registered();
    const { enrollment_cert_pem: cert, enrollment_key_pem: key } = (await requestCert(node)).body;
    const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    expect((await enrollByText(cert, other.toString())).status).toBe(403);
    const { nonce } = (await world.node.get('/api/v1/attest/challenge')).body as { nonce: string };
    expect((await enrollByText(cert, key, nonce)).status).toBe(403);
    const self = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-384',
      '-nodes',
      '-days',
      '1',
    ];
    const forgedSubject = ['-subj', `/OU=worker-app/CN=${node.machineId}`, '-keyout', join(dir, 'f.pem')];
    const forged = (await run('openssl', [...self, ...forgedSubject])).stdout;
    expect((await enrollByText(forged, await readFile(join(dir, 'f.pem'), 'utf8'))).status).toBe(403);
    const request = await csr();
    const operator = await world.admin.post(`/api/v1/operators/${node.machineId}/issue-cert`, {
      csr_pem: request.pem,
    });
    expect((await enrollByText(operator.body.certificate_pem, request.key)).status).toBe(403);
    expect((await enrollByText('x', key)).status).toBe(403);
  });

  it('a captured enrollment does not revive a locked or revoked machine, whose certificate dies at once', async () => {
    const node = await registered();
    await world.node.post('/api/v1/attest', node.ek);
    const { enrollment_cert_pem: cert, enrollment_key_pem: key } = (await requestCert(node)).body;
    await act(node, 'lock');
    expect((await enrollByText(cert, key)).status).toBe(403);
    await act(node, 'unlock');
    expect((await enrollByText(cert, key)).status).toBe(200);
    await act(node, 'revoke');
    expect((await enrollByText(cert, key)).status).toBe(403);
    expect((await world.admin.get(`/api/v1/machines/${node.machineId}`)).body.status).toBe('revoked');
    const { enrollment_ca_pem: ca } = (await requestCert(await registered())).body;
    const crl = await world.node.get('/api/v1/ca/crl.pem');
    await Promise.all([
      writeFile(join(dir, 'ca.pem'), ca),
      writeFile(join(dir, 'crl.pem'), crl.text),
      writeFile(join(dir, 'leaf.pem'), cert),
    ]);
    const files = ['-CAfile', join(dir, 'ca.pem'), '-CRLfile', join(dir, 'crl.pem'), join(dir, 'leaf.pem')];
    await expect(run('openssl', ['verify', '-crl_check', ...files])).rejects.toThrow(/revoked/);
    expect((await world.node.get('/api/v1/ca/crl')).headers.get('content-type')).toBe('application/pkix-crl');
  });
});

describe('operator certificates', () => {
  const withCert = (pem: string) =>
    world.node.get('/api/v1/machines', { 'x-client-cert': encodeURIComponent(pem) });

  it('are issued to operators only, audited, and let their holder in', async () => {
    const { pem } = await csr('/CN=ignored');
    expect((await world.node.post('/api/v1/operators/ann/issue-cert', { csr_pem: pem })).status).toBe(401);
    const issued = await world.admin.post('/api/v1/operators/ann/issue-cert', { csr_pem: pem });
    expect(issued.status).toBe(201);
    expect(Object.keys(issued.body).sort()).toEqual(['ca_pem', 'certificate_pem', 'not_after', 'serial']);
    expect(new X509Certificate(issued.body.certificate_pem).subject).toBe('OU=operator\nCN=ann');
    expect((await withCert(issued.body.certificate_pem)).status).toBe(200);
    const [audited] = (await world.admin.get('/api/v1/audit?action=operator_cert')).body;
    expect(audited.detail).toContain(issued.body.serial);
    await world.db('certificates').where({ serial: issued.body.serial }).update({ revoked_at: new Date() });
    expect((await withCert(issued.body.certificate_pem)).status).toBe(401);
  });

  it('machine certificates, foreign ones and unrecorded ones let nobody in', async () => {
    const machine = (await requestCert(await registered())).body.enrollment_cert_pem as string;
    expect((await withCert(machine)).status).toBe(403);
    const { pem } = await csr('/CN=x');
    const issued = await world.admin.post('/api/v1/operators/bob/issue-cert', { csr_pem: pem });
    await world.db('certificates').where({ serial: issued.body.serial }).delete();
    expect((await withCert(issued.body.certificate_pem)).status).toBe(401);
    expect((await withCert(tpmVectors.ca.root_pem)).status).toBe(401);
  });

  it.each(['SYSTEM', 'node', 'a'.repeat(65), ' x', 'x%0ay'])('refuses the name %s', async (name) => {
    const { pem } = await csr();
    const answer = await world.admin.post(`/api/v1/operators/${encodeURIComponent(name)}/issue-cert`, {
      csr_pem: pem,
    });
    expect(answer.status).toBe(422);
  });
});

describe('offline bundle', () => {
  it('holds all fields, is not stored, and is audited', async () => {
    const node = await registered();
    const { status, headers, body } = await world.admin.get(
      `/api/v1/machines/${node.machineId}/offline-bundle`,
    );
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(body).toMatchObject({ machine_id: node.machineId, install_mode: 'offline', status: 'registered' });
    expect(body.config_url).toContain(body.config_token);
    expect(body.machineconfig).toContain('enrollment.key');
    expect(body.machineconfig).toContain('BEGIN PRIVATE KEY');
    const certificate = new X509Certificate(body.enrollment_cert_pem);
    expect(certificate.checkPrivateKey(createPrivateKey(body.enrollment_key_pem))).toBe(true);
    expect(certificate.subjectAltName).toContain(node.ek.ek_fingerprint);
    const path = `/api/v1/audit?action=offline_bundle&machine_id=${node.machineId}`;
    expect((await world.admin.get(path)).body).toHaveLength(1);
    expect((await world.node.get(`/api/v1/machines/${node.machineId}/offline-bundle`)).status).toBe(401);
  });

  it('409 for pending and revoked machines; without base config the rest still comes', async () => {
    const { body } = await world.node.post('/api/v1/self-register', softwareEk());
    expect((await world.admin.get(`/api/v1/machines/${String(body.machine_id)}/offline-bundle`)).status).toBe(
      409,
    );
    const node = await registered();
    await act(node, 'approve', { role: 'windows' });
    const bundle = await world.admin.get(`/api/v1/machines/${node.machineId}/offline-bundle`);
    expect([bundle.status, bundle.body.machineconfig]).toEqual([200, null]);
    await act(node, 'revoke');
    expect((await world.admin.get(`/api/v1/machines/${node.machineId}/offline-bundle`)).status).toBe(409);
  });
});

describe('import', () => {
  const importing = (body: unknown) => world.admin.post('/api/v1/machines/import', body);

  it('computes the fingerprint, registers, and is idempotent by EK', async () => {
    const { ek_fingerprint: fingerprint, ...receipt } = softwareEk();
    const machineId = crypto.randomUUID();
    const first = await importing({
      ...receipt,
      machine_id: machineId,
      role: 'worker-infra',
      hw_serial: 's1',
    });
    expect(first.body).toMatchObject({ machine_id: machineId, status: 'registered', role: 'worker-infra' });
    expect(first.body.config_url).toContain('/api/v1/config/');
    const again = await importing({ ...receipt, ek_fingerprint: fingerprint });
    expect([again.status, again.body.machine_id]).toEqual([200, machineId]);
    expect((await world.admin.get(`/api/v1/machines/${machineId}`)).body.ek_fingerprint).toBe(fingerprint);
    expect((await world.admin.get(`/api/v1/audit?action=import&machine_id=${machineId}`)).body).toHaveLength(
      1,
    );
    await world.admin.post(`/api/v1/machines/${machineId}/revoke`, {});
    expect((await importing(receipt)).status).toBe(409);
  });

  it('refuses a receipt without material, with a lie, or with another machine_id in use', async () => {
    const receipt = softwareEk();
    expect((await importing({ ek_fingerprint: receipt.ek_fingerprint })).status).toBe(422);
    expect((await importing({ ...receipt, ek_fingerprint: 'ab'.repeat(48) })).status).toBe(422);
    const { machineId } = await registered();
    expect((await importing({ ...receipt, machine_id: machineId })).status).toBe(409);
    expect((await world.node.post('/api/v1/machines/import', receipt)).status).toBe(401);
  });
});

describe('one key is one machine', () => {
  it('whatever certificate, source or padding it is shown in', async () => {
    const vector = tpmVectors.eks.rsa;
    const cert = { ek_fingerprint: vector.sha384_der, ek_cert_pem: vector.cert_der_b64 };
    const first = await world.node.post('/api/v1/self-register', cert);
    expect(first.status).toBe(200);
    const changed = Buffer.from(vector.cert_der_b64, 'base64');
    changed[changed.length - 1] = (changed[changed.length - 1] ?? 0) ^ 1;
    const { createHash } = await import('node:crypto');
    const sha384 = (bytes: Buffer) => createHash('sha384').update(bytes).digest('hex');
    const others = [
      { ek_fingerprint: sha384(changed), ek_cert_pem: changed.toString('base64') },
      { ek_fingerprint: vector.sha384_spki, ek_cert_pem: vector.spki_der_b64, ek_source: 'pub' },
      { ek_fingerprint: vector.sha256_der, ek_cert_pem: vector.cert_der_b64 },
    ];
    for (const other of others) {
      const answer = await world.node.post('/api/v1/self-register', other);
      expect([answer.status, answer.body.machine_id]).toEqual([200, first.body.machine_id]);
      expect((await world.node.post('/api/v1/attest', other)).body.machine_id).toBe(first.body.machine_id);
    }
    await world.admin.post(`/api/v1/machines/${String(first.body.machine_id)}/revoke`, {});
    for (const other of others) expect((await world.node.post('/api/v1/register', other)).status).toBe(409);
    const platform = Buffer.from(tpmVectors.platform_cert_der_b64, 'base64');
    const trap = { ek_fingerprint: sha384(platform), ek_cert_pem: tpmVectors.platform_cert_der_b64 };
    expect((await world.node.post('/api/v1/self-register', trap)).status).toBe(422);
  });
});
