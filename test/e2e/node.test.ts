import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nodeVerdicts } from '../support/node-config-check.js';
import { httpClient } from '../support/http.js';
import type { HttpClient } from '../support/http.js';
import { startSoftTpm } from '../support/swtpm.js';
import type { SoftTpm } from '../support/swtpm.js';
import { startStack } from '../support/stack.js';
import type { RunningStack } from '../support/stack.js';

describe('a node with a software TPM against npm start', () => {
  let tpm: SoftTpm;
  let stack: RunningStack;
  let node: HttpClient;
  let ann: HttpClient;
  let ben: HttpClient;

  beforeAll(async () => {
    tpm = await startSoftTpm();
    stack = await startStack({ SVC_DUAL_CONTROL_ROLES: 'controlplane' });
    node = httpClient(stack.brokerUrl);
    ann = httpClient(stack.brokerUrl, { authorization: `Bearer ${await stack.token('ann')}` });
    ben = httpClient(stack.brokerUrl, { authorization: `Bearer ${await stack.token('ben')}` });
  }, 600_000);
  afterAll(async () => {
    await tpm.stop();
    expect(await stack.stop()).toBe(0);
  }, 60_000);

  it('registers, is approved by two, attests, is configured, locked, unlocked, revoked and wiped', async () => {
    const certificate = await tpm.ekCertificate('rsa');
    const ek = {
      ek_fingerprint: createHash('sha384').update(certificate).digest('hex'),
      ek_cert_pem: certificate.toString('base64'),
      hw_mac: '52:54:00:12:34:56',
    };
    const poll = async () =>
      (await node.post('/api/v1/attest', ek)).body as { action: string; config_token: string };

    const registered = await node.post('/api/v1/self-register', ek);
    expect(registered.body).toMatchObject({ status: 'pending_approval', config_token: null });
    const machine = `/api/v1/machines/${String(registered.body.machine_id)}`;
    expect(await poll()).toMatchObject({ action: 'none', status: 'pending_approval' });

    const proposal = { role: 'controlplane', hostname: 'cp-1.example', assigned_ip: '10.9.8.7/24' };
    expect((await ann.post(`${machine}/approve`, proposal)).status).toBe(202);
    expect((await ann.post(`${machine}/approve`, proposal)).status).toBe(202);
    expect(await poll()).toMatchObject({ action: 'none' });
    expect((await ben.post(`${machine}/approve`, proposal)).status).toBe(200);

    const admitted = await poll();
    expect(admitted).toMatchObject({ action: 'apply-config', status: 'attested' });
    const config = await node.get(`/api/v1/config/${admitted.config_token}`);
    expect(config.headers.get('content-type')).toBe('application/yaml');
    const file = join(tpm.dir, 'machine-config.yaml');
    await writeFile(file, config.text);
    expect(await nodeVerdicts([file])).toEqual([expect.stringMatching(/^ok .* controlplane$/)]);
    expect(config.text).toContain('cp-1.example');
    expect(await poll()).toMatchObject({ action: 'none' });

    expect((await ann.post(`${machine}/lock`, { reason: 'audit' })).status).toBe(200);
    expect(await poll()).toMatchObject({ action: 'lock' });
    expect((await ann.post(`${machine}/unlock`)).status).toBe(200);
    expect((await ann.post(`${machine}/revoke`, { wipe: true, reason: 'sold' })).status).toBe(200);
    expect(await poll()).toMatchObject({ action: 'wipe' });
    expect((await ann.post(`${machine}/wipe-complete`)).status).toBe(200);
    expect(await poll()).toMatchObject({ action: 'none', status: 'revoked' });

    expect((await ann.get('/api/v1/audit/verify')).body).toMatchObject({ valid: true, error: null });
    const log = (await ann.get('/api/v1/audit')).body as { action: string; operator_cn: string }[];
    expect(log.map((row) => `${row.operator_cn} ${row.action}`).reverse()).toEqual([
      'ann approve_vote',
      'ben approve_vote',
      'ben approve',
      'ann lock',
      'ann unlock',
      'ann revoke',
      'ann wipe_complete',
    ]);
  }, 120_000);
});
