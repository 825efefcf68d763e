import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { softwareRsaEk } from '../../support/ek.js';
import { attestedNode } from '../../support/nodes.js';
import { startWebhookSink } from '../../support/webhook-sink.js';
import type { WebhookSink } from '../../support/webhook-sink.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

describe('webhooks, from the act to the receiver', () => {
  let world: BrokerWorld;
  let sink: WebhookSink;
  beforeAll(async () => {
    world = await brokerWorld({
      worker: true,
      settings: {
        SVC_WEBHOOK_ALLOW_HTTP: 'true',
        SVC_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
        SVC_WEBHOOK_RETRY_SCHEDULE: '50ms,50ms',
      },
    });
    sink = await startWebhookSink((request) => ({ status: request.path.includes('broken') ? 500 : 200 }));
  });
  afterAll(async () => {
    await sink.close();
    await world.close();
  });

  const hook = async (events: readonly string[], path = '') => {
    const { body } = await world.admin.post('/api/v1/webhooks', {
      url: `${sink.url}${path}`,
      events,
      secret: 'shh',
    });
    return `/api/v1/webhooks/${String(body.webhook_id)}`;
  };
  const eventsSunk = () =>
    sink.requests.map((r) => JSON.parse(r.body) as { event_type: string; machine_id: string; data: object });

  it('tells of registration, approval, lock, revocation and secrets', async () => {
    await hook([
      'machine.registered',
      'machine.approved',
      'machine.locked',
      'machine.revoked',
      'secret.created',
      'secret.accessed',
    ]);
    const { identity } = await softwareRsaEk();
    const node = await attestedNode(world, identity);
    const secrets = `/api/v1/secrets/machines/${node.machineId}/secrets`;
    await world.admin.post(secrets, { name: 'k', value: 'not in any event' });
    const read = await world.node.get(`${secrets}/k`, {
      ...node.proof,
      accept: 'application/vnd.svc.config.encrypted+json;format=ek-aes256gcm-v1',
    });
    expect(read.status).toBe(200);
    await world.admin.post(`/api/v1/machines/${node.machineId}/lock`, { reason: 'odd' });
    await world.admin.post(`/api/v1/machines/${node.machineId}/revoke`, { wipe: false, reason: 'gone' });
    await eventually(() => eventsSunk().length >= 6);
    const told = Object.fromEntries(eventsSunk().map((e) => [e.event_type, e]));
    const about = (data: object) => ({ machine_id: node.machineId, data });
    expect(told).toMatchObject({
      'machine.registered': about({ ek_fingerprint: identity.ek_fingerprint, status: 'pending_approval' }),
      'machine.approved': about({
        ek_fingerprint: identity.ek_fingerprint,
        hostname: null,
        approved_by: 'SYSTEM',
      }),
      'machine.locked': about({ reason: 'odd' }),
      'machine.revoked': about({ reason: 'gone', wipe: false }),
      'secret.created': about({ name: 'k' }),
      'secret.accessed': about({ name: 'k' }),
    });
    expect(JSON.stringify(told)).not.toContain('not in any event');
  });

  it('keeps attempts, sends a test, and sends again what failed', async () => {
    const path = await hook(['machine.registered'], '/broken');
    const test = await world.admin.post(`${path}/test`, {});
    expect(test.status).toBe(202);
    expect((await world.admin.post(`${path}/test`, {})).status).toBe(429);
    const deliveryId = String(test.body.delivery_id);
    const attempts = () => world.admin.get(`${path}/deliveries`);
    await eventually(async () => (await attempts()).body.total === 3);
    const detail = await world.admin.get(`${path}/deliveries/${deliveryId}`);
    expect(detail.body).toMatchObject({
      attempt: 1,
      event_type: 'webhook.test',
      response_status: 500,
      error: 'HTTP 500',
    });
    await eventually(
      async () => (await world.admin.get(`${path}/deliveries/${deliveryId}`)).body.state === 'failed',
    );

    await world.admin.put(path, { url: sink.url });
    expect((await world.admin.post(`${path}/deliveries/${deliveryId}/redeliver`, {})).status).toBe(202);
    await eventually(
      async () => (await world.admin.get(`${path}/deliveries/${deliveryId}`)).body.state === 'delivered',
    );
    const last = sink.requests.at(-1)!;
    expect(last.headers['webhook-id']).toBe(deliveryId);
    expect((await attempts()).body.deliveries.map((d: { attempt: number }) => d.attempt)).toEqual([
      4, 3, 2, 1,
    ]);

    await world.db('webhook_messages').where({ message_id: deliveryId }).update({ state: 'failed' });
    const recovered = await world.admin.post(`${path}/recover?since=${new Date(0).toISOString()}`, {});
    expect(recovered.body).toEqual({ recovered: 1 });
    await eventually(async () => (await attempts()).body.total === 5);
    expect((await world.admin.delete(path)).status).toBe(204);
    expect((await world.admin.get(path)).status).toBe(404);
  });

  it.each([
    ['http://10.0.0.1/', 'url'],
    ['http://169.254.169.254/latest', 'url'],
    ['http://metadata.google.internal/', 'url'],
    ['ftp://127.0.0.1/', 'url'],
    [`http://127.0.0.1:9999/${'a'.repeat(500)}`, 'url'],
  ])('refuses %.40s', async (url, field) => {
    const { status, body } = await world.admin.post('/api/v1/webhooks', { url, events: ['webhook.test'] });
    expect({ status, field: body.detail[0].loc[1] }).toEqual({ status: 422, field });
    const path = await hook(['webhook.test']);
    expect((await world.admin.put(path, { url })).status).toBe(422);
  });

  it('refuses unknown events and secrets that are not what they seem', async () => {
    const create = (body: object) =>
      world.admin.post('/api/v1/webhooks', { url: sink.url, events: ['webhook.test'], ...body });
    expect((await create({ events: ['machine.exploded'] })).status).toBe(422);
    expect((await create({ events: [] })).status).toBe(422);
    expect((await create({ events: '%' })).status).toBe(422);
    expect((await create({ secret: 'whsec_not base64!' })).status).toBe(422);
    expect((await create({ events: 'webhook.test, machine.revoked' })).body.events).toEqual([
      'webhook.test',
      'machine.revoked',
    ]);
  });

  it('shows the seven metrics with bounded labels', async () => {
    const { text, headers } = await world.node.get('/metrics');
    expect(headers.get('content-type')).toContain('text/plain');
    const value = (name: string, labels = '') =>
      Number(new RegExp(`^${name}${labels.replaceAll(/[{}"]/g, '\\$&')} (\\S+)$`, 'm').exec(text)?.[1]);
    expect(value('attestation_machine_registrations_total', '{status="pending_approval"}')).toBe(1);
    expect(value('attestation_machine_attestations_total', '{action="apply-config",status="attested"}')).toBe(
      1,
    );
    expect(value('attestation_secret_operations_total', '{operation="machine_read",status="success"}')).toBe(
      1,
    );
    expect(
      value('attestation_webhook_deliveries_total', '{event_type="webhook.test",status="failure"}'),
    ).toBe(3);
    expect(value('attestation_audit_log_entries_total', '{action="lock"}')).toBe(1);
    expect(value('attestation_machines_by_status', '{status="revoked"}')).toBe(1);
    expect(value('attestation_active_sessions')).toBe(0);
    expect(text).toContain('keystead_http_request_seconds_bucket');
    expect(text).toContain('keystead_outbox_waiting 0');
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/);
  });

  it('lists its extensions', async () => {
    const { body } = await world.admin.get('/api/v1/extensions');
    const versions = Object.fromEntries(
      body.extensions.map((e: { name: string; version: string }) => [e.name, e.version]),
    );
    expect(versions).toMatchObject({ metrics: '1.0.0', secret_vault: '2.0.0', webhooks: '1.0.0' });
  });
});
