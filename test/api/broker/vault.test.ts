import { randomBytes, randomUUID, sign } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { akPem } from '../../../activities/crypto/ak.js';
import { softwareEk, softwareRsaEk } from '../../support/ek.js';
import { openRsaEnvelope } from '../../support/envelope.js';
import { attestedNode } from '../../support/nodes.js';
import { makeSoftwareAk } from '../../support/software-ak.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

const ENVELOPE = 'application/vnd.svc.config.encrypted+json';
const v1 = { accept: `${ENVELOPE};format=ek-aes256gcm-v1` };

describe('the secret vault', () => {
  let world: BrokerWorld;
  beforeAll(async () => {
    world = await brokerWorld();
  });
  afterAll(() => world.close());

  const share = async (value: string, machineIds: readonly string[] = []) => {
    const name = `shared-${randomUUID()}`;
    const { body } = await world.admin.post('/api/v1/shared-secrets', { name, value });
    const id = body.shared_secret_id as string;
    if (machineIds.length > 0)
      await world.admin.post(`/api/v1/shared-secrets/${id}/access`, { machine_ids: machineIds });
    return { name, id, path: `/api/v1/shared-secrets/by-name/${name}/value` };
  };

  describe('machine secrets', () => {
    it('reach their machine sealed to its EK, and nobody else', async () => {
      const { identity, privateKey } = await softwareRsaEk();
      const node = await attestedNode(world, identity);
      const other = await attestedNode(world);
      const path = `/api/v1/secrets/machines/${node.machineId}/secrets`;
      const created = await world.admin.post(path, { name: 'disk-key', value: 'hunter2 ünï' });
      expect(created.status).toBe(201);
      expect(created.body).toMatchObject({ machine_id: node.machineId, name: 'disk-key', access_count: 0 });
      expect(created.text).not.toContain('hunter2');

      const read = await world.node.get(`${path}/disk-key`, { ...node.proof, ...v1 });
      expect(read.status).toBe(200);
      expect(read.headers.get('cache-control')).toBe('no-store');
      expect(openRsaEnvelope(read.body.envelope, privateKey)).toBe('hunter2 ünï');
      const { encrypted_blob: blob, nonce, tag } = read.body as Record<string, string>;
      expect(nonce).toBe(read.body.envelope.iv);
      expect(
        Buffer.concat([Buffer.from(blob!, 'base64'), Buffer.from(tag!, 'base64')]).toString('base64'),
      ).toBe(read.body.envelope.ciphertext);
      const listed = await world.admin.get(path);
      expect(listed.body).toMatchObject({ total: 1, secrets: [{ access_count: 1 }] });
      expect(listed.text).not.toContain('hunter2');

      expect((await world.node.get(`${path}/disk-key`, { ...other.proof, ...v1 })).status).toBe(403);
      expect((await world.node.get(`${path}/disk-key`, { 'x-ek-fingerprint': 'ab'.repeat(48) })).status).toBe(
        403,
      );
      expect((await world.node.get(`${path}/disk-key`)).status).toBe(422);
      expect((await world.node.get(`${path}/unknown`, { ...node.proof, ...v1 })).status).toBe(404);
      expect((await world.node.get(`${path}/disk-key`, node.proof)).status).toBe(200);
    });

    it('are refused to a machine that is not attested (any more)', async () => {
      const { identity } = await softwareRsaEk();
      const node = await attestedNode(world, identity);
      const path = `/api/v1/secrets/machines/${node.machineId}/secrets`;
      await world.admin.post(path, { name: 'k', value: 'v' });
      await world.admin.post(`/api/v1/machines/${node.machineId}/lock`, {});
      expect((await world.node.get(`${path}/k`, { ...node.proof, ...v1 })).status).toBe(403);
    });

    it('have unique names, versions, a life and 64 KiB at most', async () => {
      const { machineId } = await attestedNode(world);
      const path = `/api/v1/secrets/machines/${machineId}/secrets`;
      const made = await world.admin.post(path, { name: 'one', value: 'a' });
      expect((await world.admin.post(path, { name: 'one', value: 'b' })).status).toBe(409);
      expect(made.headers.get('etag')).toBe('"1"');
      const secret = `/api/v1/secrets/${String(made.body.secret_id)}`;
      expect((await world.admin.put(secret, { value: 'c' }, { 'if-match': '"1"' })).body.version).toBe(2);
      expect((await world.admin.put(secret, { value: 'd' }, { 'if-match': '"1"' })).status).toBe(409);
      expect((await world.admin.put(secret, { value: 'd' }, { 'if-match': 'W/"2"' })).status).toBe(400);

      const most = 'é'.repeat(32_768);
      expect((await world.admin.post(path, { name: 'most', value: most })).status).toBe(201);
      expect((await world.admin.post(path, { name: 'more', value: `${most}x` })).status).toBe(422);
      expect((await world.admin.post(path, { name: 'x'.repeat(129), value: 'v' })).status).toBe(422);

      await world.admin.post(path, { name: 'short', value: 'v', ttl_seconds: 1 });
      await world
        .db('machine_secrets')
        .where({ name: 'short' })
        .update({ expires_at: new Date(0) });
      expect((await world.admin.post(path, { name: 'short', value: 'again' })).status).toBe(201);

      expect((await world.admin.delete(secret)).status).toBe(204);
      expect((await world.admin.delete(secret)).status).toBe(404);
      expect(
        (
          await world.admin.post(`/api/v1/secrets/machines/${randomUUID()}/secrets`, {
            name: 'n',
            value: 'v',
          })
        ).status,
      ).toBe(404);
    });

    it('do not open in another row: a swap in the database is noticed', async () => {
      const { identity } = await softwareRsaEk();
      const node = await attestedNode(world, identity);
      const path = `/api/v1/secrets/machines/${node.machineId}/secrets`;
      await world.admin.post(path, { name: 'low', value: 'low' });
      await world.admin.post(path, { name: 'high', value: 'high' });
      await world.db.raw(
        `update machine_secrets l set encrypted_value = h.encrypted_value, nonce = h.nonce, tag = h.tag
         from machine_secrets h where l.name = 'low' and h.name = 'high'
           and l.machine_id = h.machine_id and h.machine_id = ?`,
        [node.machineId],
      );
      const read = await world.node.get(`${path}/low`, { ...node.proof, ...v1 });
      expect(read.status).toBe(503);
      expect((await world.node.get(`${path}/high`, { ...node.proof, ...v1 })).status).toBe(200);
    });
  });

  describe('shared secrets', () => {
    it('are read by machines with a grant, until it is taken back', async () => {
      const [ann, bob] = [await attestedNode(world), await attestedNode(world)];
      const { id, name, path } = await share('s3cret', [ann.machineId]);
      const read = await world.node.get(path, ann.proof);
      expect(read.body).toMatchObject({ name, value: 's3cret' });
      expect((await world.node.get(path, bob.proof)).status).toBe(403);
      const again = await world.admin.post(`/api/v1/shared-secrets/${id}/access`, {
        machine_ids: [ann.machineId, bob.machineId],
      });
      expect(again.body).toMatchObject({ granted: 1 });
      expect((await world.admin.get(`/api/v1/shared-secrets/${id}`)).body).toMatchObject({
        authorized_machine_count: 2,
        access_count: 1,
      });
      const revoked = await world.admin.delete(`/api/v1/shared-secrets/${id}/access`, {
        machine_ids: [ann.machineId],
      });
      expect(revoked.body).toMatchObject({ revoked: 1 });
      expect((await world.node.get(path, ann.proof)).status).toBe(403);
      expect((await world.admin.get(`/api/v1/shared-secrets/${id}/access`)).body.access_grants).toMatchObject(
        [{ machine_id: bob.machineId }],
      );
      expect((await world.admin.delete(`/api/v1/shared-secrets/${id}`)).status).toBe(204);
      expect((await world.node.get(path, bob.proof)).status).toBe(404);
      const log = await world.db('secret_access_log').where({ secret_id: id }).orderBy('id').pluck('action');
      expect(log).toEqual(['grant', 'read', 'grant', 'grant_revoke', 'delete']);
    });

    it('need an AK-signed nonce once the machine has an AK, since they travel in plaintext', async () => {
      const node = await attestedNode(world);
      const { ak, privateKey, publicArea } = makeSoftwareAk('ecdsa', 'sha256');
      await world.db('attestation_keys').insert({
        machine_id: node.machineId,
        ak_public: Buffer.from(publicArea),
        ak_name: ak.name,
        ak_pub: akPem(ak),
      });
      const { path } = await share('signed only', [node.machineId]);
      const nonce = async () =>
        (await world.node.get('/api/v1/attest/challenge')).body as { nonce_id: string; nonce: string };
      const signed = (challenge: { nonce_id: string; nonce: string }, key = privateKey) => ({
        ...node.proof,
        'x-nonce-id': challenge.nonce_id,
        'x-nonce-signature': sign('sha256', Buffer.from(challenge.nonce, 'base64'), key).toString('base64'),
      });
      expect((await world.node.get(path, node.proof)).status).toBe(403);
      const challenge = await nonce();
      expect((await world.node.get(path, signed(challenge))).body.value).toBe('signed only');
      expect((await world.node.get(path, signed(challenge))).status).toBe(409);
      expect(
        (await world.node.get(path, signed(await nonce(), makeSoftwareAk('ecdsa', 'sha256').privateKey)))
          .status,
      ).toBe(403);
      const unsigned = { ...node.proof, 'x-nonce-id': (await nonce()).nonce_id };
      expect((await world.node.get(path, unsigned)).status).toBe(403);
    });

    it('stay readable while they rotate: old or new, never an error', async () => {
      const nodes = await Promise.all(Array.from({ length: 4 }, () => attestedNode(world)));
      const { id, path } = await share(
        'value-0',
        nodes.map((n) => n.machineId),
      );
      const values = new Map<number, number>();
      let written = 0;
      let done = false;
      const rotate = async () => {
        while (!done) {
          const next = written + 1;
          expect(
            (await world.admin.put(`/api/v1/shared-secrets/${id}`, { value: `value-${next}` })).status,
          ).toBe(200);
          written = next;
        }
      };
      const reader = async (proof: Record<string, string>) => {
        for (let count = 0; count < 625; count += 1) {
          const before = written;
          const { status, body } = await world.node.get(path, proof);
          expect(status).toBe(200);
          const version = Number(/^value-(\d+)$/.exec(body.value as string)?.[1]);
          expect(version).toBeGreaterThanOrEqual(before);
          expect(version).toBeLessThanOrEqual(written + 1);
          values.set(version, (values.get(version) ?? 0) + 1);
        }
      };
      const rotating = rotate();
      await Promise.all(Array.from({ length: 16 }, (_, i) => reader(nodes[i % 4]!.proof)));
      done = true;
      await rotating;
      expect([...values.values()].reduce((a, b) => a + b, 0)).toBe(10_000);
      expect(values.size).toBeGreaterThan(5);
      expect((await world.admin.get(`/api/v1/shared-secrets/${id}`)).body.access_count).toBe(10_000);
    }, 600_000);

    it('end with the grant, whatever reads are under way', async () => {
      const node = await attestedNode(world);
      for (let round = 0; round < 20; round += 1) {
        const { id, path } = await share(randomBytes(8).toString('hex'), [node.machineId]);
        const reads = Array.from({ length: 8 }, () => world.node.get(path, node.proof));
        await world.admin.delete(`/api/v1/shared-secrets/${id}/access`, { machine_ids: [node.machineId] });
        const later = await world.node.get(path, node.proof);
        expect(later.status).toBe(403);
        for (const { status } of await Promise.all(reads)) expect([200, 403]).toContain(status);
      }
    });
  });

  it('opens to operators only, and not without their login', async () => {
    const paths = [
      '/api/v1/shared-secrets',
      '/api/v1/webhooks',
      `/api/v1/secrets/machines/${randomUUID()}/secrets`,
    ];
    for (const path of paths) {
      expect((await world.node.get(path)).status).toBe(401);
      expect((await world.node.get(path, { authorization: 'Bearer wrong' })).status).toBe(401);
      expect((await world.node.post(path, {}, softwareEk() as never)).status).toBe(401);
    }
  });
});
