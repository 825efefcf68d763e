import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { softwareEk } from '../../support/ek.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

/** What earlier implementations of this protocol let an attacker do; the numbers are those of the list we keep of them. */
describe('known weaknesses of trust brokers are not ours', () => {
  let world: BrokerWorld;
  beforeAll(async () => {
    world = await brokerWorld({ gateways: 2, settings: { SVC_DUAL_CONTROL_ROLES: 'controlplane' } });
  });
  afterAll(() => world.close());

  const selfRegistered = async () => {
    const ek = softwareEk();
    const { body } = await world.node.post('/api/v1/self-register', ek);
    return { ek, machineId: body.machine_id as string };
  };
  const act = (machineId: string, name: string, body: object = {}) =>
    world.admin.post(`/api/v1/machines/${machineId}/${name}`, body);
  const statusOf = async (machineId: string) =>
    (await world.admin.get(`/api/v1/machines/${machineId}`)).body.status as string;

  it('1: attesting, however often, does not approve a machine', async () => {
    const ek = softwareEk();
    for (let n = 0; n < 3; n += 1) {
      const { body } = await world.node.post('/api/v1/attest', ek);
      expect(body).toMatchObject({
        status: 'pending_approval',
        action: 'none',
        config_token: null,
        config_url: null,
      });
    }
    const { body: garbage, status } = await world.node.post('/api/v1/attest', {
      ek_fingerprint: createHash('sha384').update('junk').digest('hex'),
      ek_cert_pem: Buffer.from('junk').toString('base64'),
    });
    expect(status).toBe(422);
    expect(garbage.detail[0].loc[0]).toBe('body');
  });

  it('2: the caller cannot choose itself a protected role, and a token alone releases no secrets', async () => {
    const { body } = await world.node.post('/api/v1/register', {
      ...softwareEk(),
      desired_role: 'controlplane',
    });
    expect(body.status).toBe('pending_approval');
    const { body: worker } = await world.node.post('/api/v1/register', softwareEk());
    const config = await world.node.get(`/api/v1/config/${String(worker.config_token)}`);
    expect(config.headers.get('content-type')).toMatch(/^text\/plain/);
  });

  it('8: a revoked machine gets nothing by registering again', async () => {
    const { ek, machineId } = await selfRegistered();
    await act(machineId, 'revoke');
    expect((await world.node.post('/api/v1/register', ek)).status).toBe(409);
    expect((await world.node.post('/api/v1/attest', ek)).body).toMatchObject({
      status: 'revoked',
      config_token: null,
    });
  });

  it('9: one key is one machine, however its material is spelled', async () => {
    const ek = softwareEk();
    const der = Buffer.from(ek.ek_cert_pem, 'base64');
    const pem = Buffer.from(
      `-----BEGIN PUBLIC KEY-----\r\n${der.toString('base64').replace(/(.{64})/g, '$1\r\n')}\r\n-----END PUBLIC KEY-----\r\n\n`,
    );
    const padded = Buffer.concat([der, Buffer.alloc(64)]);
    const spellings = [der, pem, padded].flatMap((bytes) =>
      ['sha384', 'sha256'].map((algorithm) => ({
        ek_fingerprint: createHash(algorithm).update(bytes).digest('hex').toUpperCase(),
        ek_cert_pem: bytes.toString('base64'),
        ek_source: 'pub',
      })),
    );
    const ids = new Set<string>();
    for (const spelling of spellings) {
      const answer = await world.node.post('/api/v1/self-register', spelling);
      expect(answer.status).toBe(200);
      ids.add(answer.body.machine_id as string);
    }
    expect(ids.size).toBe(1);
    const [machineId = ''] = ids;
    const { body } = await world.admin.get(`/api/v1/machines/${machineId}`);
    expect(body.ek_fingerprint).toBe(ek.ek_fingerprint);
    expect(body.ek_fingerprint_sha384).toBe(ek.ek_fingerprint);
    const lax = `${ek.ek_cert_pem.slice(0, 20)}!*${ek.ek_cert_pem.slice(20)}`;
    expect((await world.node.post('/api/v1/self-register', { ...ek, ek_cert_pem: lax })).status).toBe(422);
  });

  it('10: lock and unlock lead nobody past approval', async () => {
    const { machineId } = await selfRegistered();
    expect((await act(machineId, 'lock')).status).toBe(409);
    expect((await act(machineId, 'unlock')).status).toBe(409);
    expect(await statusOf(machineId)).toBe('pending_approval');
  });

  it('11: approve does not bring back the revoked, the rejected, the locked or the attested', async () => {
    const { ek, machineId } = await selfRegistered();
    await act(machineId, 'approve', { role: 'worker-app' });
    await world.node.post('/api/v1/attest', ek);
    expect((await act(machineId, 'approve', { role: 'worker-infra' })).status).toBe(409);
    await act(machineId, 'lock');
    expect((await act(machineId, 'approve', { role: 'worker-infra' })).status).toBe(409);
    await act(machineId, 'revoke');
    expect((await act(machineId, 'approve', { role: 'worker-infra' })).status).toBe(409);
    expect(await statusOf(machineId)).toBe('revoked');
  });

  it('14: the chain has no fork when two gateways write at once', async () => {
    const machines = await Promise.all(Array.from({ length: 32 }, selfRegistered));
    const [one = '', two = ''] = world.urls;
    const approvals = await Promise.all(
      machines.map(({ machineId }, n) =>
        fetch(`${n % 2 === 0 ? one : two}/api/v1/machines/${machineId}/approve`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer test-admin-token' },
          body: '{"role":"worker-app"}',
        }),
      ),
    );
    expect(approvals.map(({ status }) => status)).toEqual(Array(32).fill(200));
    expect((await world.admin.get('/api/v1/audit/verify')).body).toMatchObject({ valid: true });
  });

  it('15: a log that was cut off or rewritten does not match a checkpoint kept outside', async () => {
    const { body: checkpoint } = await world.admin.get('/api/v1/audit/checkpoint');
    expect(checkpoint.size).toBeGreaterThan(0);
    expect(checkpoint.note).toContain(`keystead/audit\n${String(checkpoint.size)}\n`);
    const verify = (size: number, root: string) =>
      world.admin.get(`/api/v1/audit/verify?size=${size}&root_hash=${root}`);
    expect((await verify(checkpoint.size as number, checkpoint.root_hash as string)).body.valid).toBe(true);
    expect(
      (await verify((checkpoint.size as number) + 1, checkpoint.root_hash as string)).body,
    ).toMatchObject({
      valid: false,
      error: expect.stringContaining('cut off'),
    });
    expect((await verify(checkpoint.size as number, 'ab'.repeat(32))).body).toMatchObject({
      valid: false,
      error: expect.stringContaining('rewritten'),
    });
    expect((await world.admin.get('/api/v1/audit/verify?size=3')).status).toBe(422);
  });

  it('16: a change that cannot be logged does not happen', async () => {
    const { machineId } = await selfRegistered();
    await world.db.raw('alter table audit_log add constraint no_more check (id < 0) not valid');
    try {
      expect((await act(machineId, 'approve', { role: 'worker-app' })).status).toBe(500);
      expect(await statusOf(machineId)).toBe('pending_approval');
      const queued = await world.db('outbox').where({ key: machineId, topic: 'build-image' });
      expect(queued).toEqual([]);
    } finally {
      await world.db.raw('alter table audit_log drop constraint no_more');
    }
    expect((await act(machineId, 'approve', { role: 'worker-app' })).status).toBe(200);
  });

  it('27: a token dies with its machine, and comes back when it is unlocked', async () => {
    const { ek, machineId } = await selfRegistered();
    await act(machineId, 'approve', { role: 'worker-app' });
    const token = String((await world.node.post('/api/v1/attest', ek)).body.config_token);
    await act(machineId, 'lock');
    expect((await world.node.get(`/api/v1/config/${token}`)).status).toBe(404);
    await act(machineId, 'unlock');
    expect((await world.node.get(`/api/v1/config/${token}`)).status).toBe(200);
    const stored = await world.db('config_tokens').select('*').where({ machine_id: machineId });
    expect(JSON.stringify(stored)).not.toContain(token);
  });

  it('36: bodies, texts and pages are bounded', async () => {
    const ek = softwareEk();
    expect(
      (await world.node.post('/api/v1/self-register', { ...ek, hw_uuid: 'x'.repeat(1_100_000) })).status,
    ).toBe(413);
    expect((await world.node.post('/api/v1/self-register', { ...ek, hw_uuid: 'x'.repeat(300) })).status).toBe(
      422,
    );
    const { machineId } = await selfRegistered();
    const unasked = await world.node.post(`/api/v1/machines/${machineId}/lock`, {
      reason: 'x'.repeat(1_100_000),
    });
    expect(unasked.status).toBe(401);
    expect((await world.admin.get('/api/v1/machines?per_page=10001')).status).toBe(422);
    const paged = await world.admin.get('/api/v1/machines?per_page=1');
    expect(paged.body).toHaveLength(1);
    expect(Number(paged.headers.get('x-total-count'))).toBeGreaterThan(1);
  });

  it('37: nothing a client sends is an internal error', async () => {
    const { ek, machineId } = await selfRegistered();
    const answers = await Promise.all([
      world.node.post('/api/v1/self-register', { ...ek, ek_cert_pem: '%%%' }),
      world.node.post('/api/v1/register', { ...ek, desired_role: 'worker_infra' }),
      world.node.post('/api/v1/attest', '{"a":'),
      world.node.post('/api/v1/attest', [1]),
      world.node.post('/api/v1/attest', 'null'),
      act(machineId, 'approve', { role: 'king' }),
      act(machineId, 'approve', { role: 'worker-app', assigned_ip: '10.0.0.1' }),
      world.admin.get('/api/v1/audit?page=0'),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(Array(answers.length).fill(422));
    expect((await world.admin.get('/api/v1/machines/not-a-uuid')).status).toBe(404);
    expect((await world.admin.get('/api/v1/nowhere')).body).toEqual({ detail: 'Not Found' });
    expect((await world.admin.put('/api/v1/audit')).status).toBe(405);
    await act(machineId, 'approve', { role: 'windows' });
    const { body } = await world.node.post('/api/v1/attest', ek);
    const missing = await world.node.get(`/api/v1/config/${String(body.config_token)}`);
    expect([missing.status, missing.body.detail]).toEqual([
      503,
      expect.stringContaining('Base config not available'),
    ]);
    expect((await world.node.post('/api/v1/attest', ek)).body.action).toBe('apply-config');
  });
});

describe('a pre-registration whose factory is away (weakness 26)', () => {
  it('answers 503 and leaves nothing behind', async () => {
    const world = await brokerWorld({ settings: { SVC_ISO_URL: '', SVC_FACTORY_URL: 'http://127.0.0.1:9' } });
    try {
      const answer = await world.node.post('/api/v1/register', softwareEk());
      expect(answer.status).toBe(503);
      expect((await world.admin.get('/api/v1/machines')).body).toEqual([]);
      expect(await world.db('config_tokens')).toEqual([]);
    } finally {
      await world.close();
    }
  });
});

describe('too many machines that wait for approval (weakness 36)', () => {
  it('turns unknown ones away and serves the known', async () => {
    const world = await brokerWorld({ settings: { SVC_PENDING_LIMIT: '1' } });
    try {
      const ek = softwareEk();
      await world.db.raw(
        `insert into machines (machine_id, ek_fingerprint, ek_source, role, status)
         values (gen_random_uuid(), repeat('0', 96), 'pub', 'worker-app', 'pending_approval')`,
      );
      const answer = await world.node.post('/api/v1/attest', ek);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '60']);
      expect((await world.node.post('/api/v1/register', ek)).status).toBe(200);
      expect((await world.node.post('/api/v1/attest', ek)).status).toBe(200);
    } finally {
      await world.close();
    }
  });
});
