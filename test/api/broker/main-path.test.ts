import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { softwareEk, softwareRsaEk } from '../../support/ek.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';
import { openRsaEnvelope } from '../../support/envelope.js';

const ENVELOPE = 'application/vnd.svc.config.encrypted+json';

describe('the main path: register, approve, attest, fetch', () => {
  let world: BrokerWorld;
  beforeAll(async () => {
    world = await brokerWorld();
  });
  afterAll(() => world.close());

  const pendingNode = async () => {
    const ek = softwareEk();
    const { body } = await world.node.post('/api/v1/self-register', ek);
    return { ek, machineId: body.machine_id as string };
  };
  const attestedNode = async () => {
    const { ek, machineId } = await pendingNode();
    await world.admin.post(`/api/v1/machines/${machineId}/approve`, { role: 'worker-app' });
    const { body } = await world.node.post('/api/v1/attest', ek);
    return { ek, machineId, token: body.config_token as string };
  };

  it('takes a self-registered machine to its config and back to silence', async () => {
    const ek = softwareEk();
    const first = await world.node.post('/api/v1/self-register', { ...ek, hw_mac: 'AA-BB-CC-00-11-22' });
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({ status: 'pending_approval', config_token: null, config_url: null });
    const machineId = first.body.machine_id as string;

    const waiting = await world.node.post('/api/v1/attest', ek);
    expect(waiting.body).toMatchObject({ status: 'pending_approval', action: 'none', config_url: null });

    const approved = await world.admin.post(`/api/v1/machines/${machineId}/approve`, {
      role: 'worker-infra',
      hostname: 'node-1.example',
      assigned_ip: '10.1.2.3/24',
    });
    expect(approved.status).toBe(200);
    expect(approved.body).toMatchObject({
      status: 'registered',
      role: 'worker-infra',
      hostname: 'node-1.example',
    });
    expect(approved.text).not.toContain('config_token');

    const admitted = await world.node.post('/api/v1/attest', ek);
    expect(admitted.body).toMatchObject({
      status: 'attested',
      action: 'apply-config',
      hostname: 'node-1.example',
    });
    const again = await world.node.post('/api/v1/attest', ek);
    expect(again.body.config_token).toBe(admitted.body.config_token);

    const config = await world.node.get(`/api/v1/config/${String(admitted.body.config_token)}`);
    expect(config.status).toBe(200);
    expect(config.headers.get('content-type')).toBe('application/yaml');
    expect(config.headers.get('cache-control')).toBe('no-store');
    expect(config.text).toContain('10.1.2.3/24');
    expect(config.text).toContain(machineId);

    const quiet = await world.node.post('/api/v1/attest', ek);
    expect(quiet.body).toMatchObject({ status: 'attested', action: 'none', config_token: null });
    const refetched = await world.node.get(`/api/v1/config/${String(admitted.body.config_token)}`);
    expect(refetched.text).toBe(config.text);

    const byMac = await world.node.get('/api/v1/config?mac=aa:bb:cc:00:11:22');
    expect(byMac.text).toBe(config.text);
  });

  it('locks, unlocks, revokes with wipe and hears of the wipe', async () => {
    const { ek, machineId, token } = await attestedNode();
    expect(
      (await world.admin.post(`/api/v1/machines/${machineId}/lock`, { reason: 'stolen?' })).body.status,
    ).toBe('locked');
    expect((await world.node.post('/api/v1/attest', ek)).body.action).toBe('lock');
    expect((await world.node.get(`/api/v1/config/${token}`)).status).toBe(404);
    expect((await world.admin.post(`/api/v1/machines/${machineId}/unlock`)).body.status).toBe('attested');
    expect((await world.node.get(`/api/v1/config/${token}`)).status).toBe(200);

    const revoked = await world.admin.post(`/api/v1/machines/${machineId}/revoke`, {
      wipe: true,
      reason: 'gone',
    });
    expect(revoked.body).toMatchObject({ status: 'revoked', wipe_pending: true });
    expect((await world.node.post('/api/v1/attest', ek)).body.action).toBe('wipe');
    expect((await world.node.post('/api/v1/attest', ek)).body.action).toBe('wipe');
    const wiped = await world.admin.post(`/api/v1/machines/${machineId}/wipe-complete`);
    expect(wiped.status).toBe(200);
    expect((await world.admin.post(`/api/v1/machines/${machineId}/wipe-complete`)).status).toBe(200);
    expect((await world.node.post('/api/v1/attest', ek)).body.action).toBe('none');
    expect((await world.admin.get('/api/v1/audit/verify')).body).toMatchObject({ valid: true, error: null });
  });

  it('gives the whole config only to attested machines, the pending text to the others', async () => {
    const { ek } = await pendingNode();
    const registered = await world.node.post('/api/v1/register', {
      ...softwareEk(),
      desired_role: 'controlplane',
    });
    expect(registered.body).toMatchObject({
      status: 'registered',
      role: 'controlplane',
      iso_url: 'https://images.test/node.iso',
    });
    const early = await world.node.get(`/api/v1/config/${String(registered.body.config_token)}`, {
      accept: ENVELOPE,
    });
    expect(early.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(early.text).toContain('pending-approval');
    const refreshed = await world.node.post('/api/v1/register', ek);
    expect(refreshed.body.status).toBe('pending_approval');
    expect((await world.node.get(`/api/v1/config/${String(refreshed.body.config_token)}`)).text).toBe(
      early.text,
    );
  });

  it('refuses every token and path of barred machines', async () => {
    const { ek, machineId, token } = await attestedNode();
    await world.admin.post(`/api/v1/machines/${machineId}/revoke`, {});
    expect((await world.node.post('/api/v1/register', ek)).status).toBe(409);
    expect((await world.node.get(`/api/v1/config/${token}`)).status).toBe(404);
    expect((await world.node.post('/api/v1/self-register', ek)).body).toMatchObject({
      status: 'revoked',
      config_token: null,
    });
    for (const act of ['approve', 'lock', 'unlock', 'reject', 'revoke']) {
      const answer = await world.admin.post(`/api/v1/machines/${machineId}/${act}`, { role: 'worker-app' });
      expect([act, answer.status]).toEqual([act, 409]);
      expect(answer.body.detail).toContain('revoked');
    }
    const { ek: other, machineId: rejectedId } = await pendingNode();
    expect(
      (await world.admin.post(`/api/v1/machines/${rejectedId}/reject`, { reason: 'no' })).body.status,
    ).toBe('rejected');
    expect((await world.node.post('/api/v1/attest', other)).status).toBe(403);
    expect((await world.node.post('/api/v1/register', other)).status).toBe(409);
  });

  it('delivers the config in an envelope that only the EK opens', async () => {
    const { identity, privateKey } = await softwareRsaEk();
    const { body } = await world.node.post('/api/v1/register', identity);
    const { body: admitted } = await world.node.post('/api/v1/attest', identity);
    expect(admitted.action).toBe('apply-config');
    const plain = await world.node.get(`/api/v1/config/${String(body.config_token)}`);
    const sealed = await world.node.get(`/api/v1/config/${String(body.config_token)}`, {
      accept: `text/html, ${ENVELOPE}`,
    });
    expect(sealed.headers.get('content-type')).toBe(ENVELOPE);
    expect(sealed.body).toMatchObject({ format: 'ek-aes256gcm-v1', machine_id: body.machine_id });
    expect(openRsaEnvelope(sealed.body, privateKey)).toBe(plain.text);
    const impossible = await world.node.get(`/api/v1/config/${String(body.config_token)}`, {
      accept: `${ENVELOPE};format=ek-unknown-v9`,
    });
    expect(impossible.status).toBe(406);
    expect(impossible.body.detail).toContain('ek-aes256gcm-v1');
  });

  it('answers 409 by MAC when two machines claim it, and to nobody but the attested one otherwise', async () => {
    const mac = '02:00:00:00:00:07';
    const ek = softwareEk();
    await world.node.post('/api/v1/register', { ...ek, hw_mac: mac });
    await world.node.post('/api/v1/attest', ek);
    expect((await world.node.get(`/api/v1/config?mac=${mac}`)).headers.get('content-type')).toBe(
      'application/yaml',
    );
    await world.node.post('/api/v1/self-register', { ...softwareEk(), hw_mac: mac.toUpperCase() });
    expect((await world.node.get(`/api/v1/config?mac=${mac}`)).status).toBe(409);
    expect((await world.node.get('/api/v1/config')).status).toBe(422);
  });

  it('lists machines and audit in pages', async () => {
    const all = await world.admin.get('/api/v1/machines');
    expect(Array.isArray(all.body)).toBe(true);
    const page = await world.admin.get('/api/v1/machines?per_page=2&page=2');
    expect(page.body).toEqual(all.body.slice(2, 4));
    expect(page.headers.get('x-total-count')).toBe(String(all.body.length));
    expect(page.headers.get('link')).toContain('rel="next"');
    const audit = await world.admin.get('/api/v1/audit?per_page=3');
    expect(audit.body.map((row: { id: number }) => row.id)).toEqual(
      [...audit.body.map((row: { id: number }) => row.id)].sort((a, b) => b - a),
    );
    expect((await world.admin.get('/api/v1/audit?per_page=201')).status).toBe(422);
    const approvals = await world.admin.get('/api/v1/audit?action=approve&per_page=200');
    expect(new Set(approvals.body.map((row: { action: string }) => row.action))).toEqual(
      new Set(['approve']),
    );
  });
});
