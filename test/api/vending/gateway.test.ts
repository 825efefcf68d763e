import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { ticketSettings } from '../../../scripts/local-cloud/server.js';
import { testCloud } from '../../support/local-cloud.js';
import type { TestCloud } from '../../support/local-cloud.js';
import { testDatabase } from '../../support/postgres.js';
import type { TestDatabase } from '../../support/postgres.js';
import { createdEvent, vendingGateway } from '../../support/vending.js';
import type { GatewayHandle } from '../../support/vending.js';

interface Operation {
  readonly responses: Record<string, { content?: { 'application/json': { schema: object } } }>;
}

const AUDIENCE = 'api://vending';
let cloud: TestCloud;
let database: TestDatabase;
const opened: GatewayHandle[] = [];
const open = async (extra: Record<string, string> = {}) => {
  const settings = { VENDING_EVENT_WAIT_SECONDS: '0', ...cloud.settings, ...extra };
  const gateway = await vendingGateway(database, settings);
  opened.push(gateway);
  return gateway;
};

beforeAll(async () => {
  [cloud, database] = await Promise.all([testCloud(), testDatabase()]);
}, 60_000);
afterAll(async () => {
  for (const gateway of opened) await gateway.close();
  await database.drop();
  await cloud.stop();
});

describe('event webhook', () => {
  let gateway: GatewayHandle;
  const post = (body: unknown, headers?: Record<string, string>) =>
    gateway.request('POST', '/webhook/', body, headers);
  const handshake = (data: object) => [
    { ...createdEvent('x'), eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent', data },
  ];
  const inbox = (): Promise<{ event_id: string; subscription_id: string }[]> =>
    database.db('vending_inbox').select('event_id', 'subscription_id');
  beforeAll(async () => {
    gateway = await open();
  });

  it.each([
    ['with the header', { 'aeg-event-type': 'SubscriptionValidation' }],
    ['by its type', {}],
  ])('answers a handshake known %s', async (_name, headers) => {
    const answer = await post(handshake({ validationCode: 'code-1' }), headers);
    expect(answer).toMatchObject({ status: 200, body: { validationResponse: 'code-1' } });
  });

  it('answers the CloudEvents handshake of an allowed origin only', async () => {
    const ask = (origin: string) =>
      gateway.request('OPTIONS', '/webhook/', undefined, { 'WebHook-Request-Origin': origin });
    const allowed = await ask('eventgrid.azure.net');
    expect(allowed.status).toBe(200);
    expect(allowed.headers.get('webhook-allowed-origin')).toBe('eventgrid.azure.net');
    expect(allowed.headers.get('webhook-allowed-rate')).toBe('1000');
    expect((await ask('evil.example')).status).toBe(400);
  });

  it.each<[string, unknown, string]>([
    ['nothing', [], 'Empty event payload'],
    ['no body', undefined, 'Empty event payload'],
    ['broken JSON', '[{"id":', 'not valid JSON'],
    ['an array of texts', ['a', 'b'], 'Event is not an object'],
    ['null', [null], 'Event is not an object'],
    ['a handshake without a code', handshake({}), "missing 'validationCode'"],
    ['data that is no object', [{ ...createdEvent('x'), data: 'text' }], 'Event data is not an object'],
    ['an event without an id', [{ ...createdEvent('x'), id: '' }], 'needs id'],
    ['a NUL in the id', [{ ...createdEvent('x'), id: 'a\u0000b' }], 'needs id'],
    ['a CloudEvent of version 0.3', { specversion: '0.3', id: '1', source: 's', type: 't' }, 'CloudEvents'],
  ])('refuses %s with 400', async (_name, body, detail) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toContain(detail);
  });

  it('takes only what creates a subscription, in either type and any case, once', async () => {
    const base = createdEvent('taken-1');
    const write = { ...createdEvent('taken-2'), eventType: 'microsoft.resources.resourcewritesuccess' };
    await post([
      base,
      base,
      write,
      createdEvent('failed', { status: 'Failed' }),
      createdEvent('other', { operationName: 'Microsoft.Compute/virtualMachines/write' }),
      { ...createdEvent('strange'), eventType: 'Microsoft.Storage.BlobCreated' },
      { ...createdEvent('nowhere', { resourceUri: '/providers/x' }), subject: '/a/b' },
      { ...createdEvent('bad/../id', { resourceUri: '/subscriptions/..' }), subject: '' },
    ]);
    const taken = (await inbox()).map((row) => row.subscription_id);
    expect(taken.filter((id) => !['taken-1', 'taken-2'].includes(id))).toEqual([]);
    expect(taken.sort()).toEqual(['taken-1', 'taken-2']);
  });

  it('takes CloudEvents, one or a batch; source and id together are the identity', async () => {
    const event = (source: string, id: string, subscription: string) => ({
      specversion: '1.0',
      id,
      source,
      type: 'Microsoft.Resources.ResourceActionSuccess',
      subject: `/subscriptions/${subscription}`,
      time: '2026-01-01T00:00:00Z',
      data: { operationName: 'Microsoft.Subscription/aliases/write' },
    });
    await post(event('a', 'ce-1', 'cloud-1'), { 'content-type': 'application/cloudevents+json' });
    await post([event('a', 'ce-1', 'cloud-1'), event('b', 'ce-1', 'cloud-2')], {
      'content-type': 'application/cloudevents-batch+json; charset=utf-8',
    });
    const taken = (await inbox()).filter(({ event_id: id }) => id === 'ce-1');
    expect(taken.map((row) => row.subscription_id).sort()).toEqual(['cloud-1', 'cloud-2']);
  });

  it('checks key and subscription name before it reads anything', async () => {
    const guarded = await open({
      VENDING_EVENT_SAS_KEY: 'sas-key-1',
      VENDING_EVENT_SUBSCRIPTION_NAMES: 'vending-prod',
    });
    const send = (headers: Record<string, string>) =>
      guarded.request('POST', '/webhook/', 'not json', headers);
    expect(await send({})).toMatchObject({ status: 401, body: { detail: 'Invalid Event Grid SAS key' } });
    expect((await send({ 'aeg-sas-key': 'sas-key-1x' })).status).toBe(401);
    expect((await send({ 'aeg-sas-key': 'sas-key-1', 'aeg-subscription-name': 'OTHER' })).status).toBe(403);
    const good = { 'aeg-sas-key': 'sas-key-1', 'aeg-subscription-name': 'VENDING-PROD' };
    expect((await send(good)).status).toBe(400);
  });

  it('refuses a body beyond its limit', async () => {
    const answer = await post([{ ...createdEvent('big'), data: { text: 'x'.repeat(2_100_000) } }]);
    expect(answer.status).toBe(413);
  });
});

describe('preflight, replay and test', () => {
  it('plans from real tags, blocks every step when the gate says no, and tells an injected ticket from a real one', async () => {
    const gateway = await open(ticketSettings(cloud.origin));
    await cloud.control('tickets', { number: 'RITM1', approval: 'approved', short_description: 'ok' });
    await cloud.control('tickets', { number: 'RITM2', approval: 'rejected' });
    await cloud.control('subscriptions', {
      subscription_id: 'pre-1',
      announce: false,
      tags: { 'svc-environment': 'development', 'svc-budget': '250', 'svc-ticket': 'RITM1' },
    });
    const preflight = async (extra: object) =>
      (await gateway.request('POST', '/webhook/preflight', { subscription_id: 'pre-1', ...extra })).body;
    const open1 = await preflight({ management_group_id: 'Other' });
    expect(open1).toMatchObject({ gate_passed: true, errors: [], management_group: 'Keystead-Development' });
    expect(open1.steps.map((s: { status: string }) => s.status)).toEqual(Array(8).fill('planned'));
    for (const ticket of ['RITM2', 'X^ORapproval=approved', 'RITM1^NQnumber=RITM1', 'NONE']) {
      const shut = await preflight({ snow_ticket: ticket });
      expect(shut.gate_passed).toBe(false);
      expect(shut.steps.map((s: { status: string }) => s.status)).toEqual(Array(7).fill('blocked'));
      expect(shut.errors).toHaveLength(1);
    }
    expect(cloud.store.all('roleAssignments')).toEqual([]);
  });

  it('says when tags could not be read, and plans without them', async () => {
    const gateway = await open();
    const { body } = await gateway.request('POST', '/webhook/preflight', { subscription_id: 'unknown-1' });
    expect(body).toMatchObject({ gate_passed: true, management_group: 'Keystead-Sandbox' });
    expect(body.errors[0]).toContain('SubscriptionNotFound');
    expect(body.summary).toMatch(/^FAILED/);
  });

  it('checks the replay secret', async () => {
    const gateway = await open({ VENDING_WORKER_SECRET: 'worker-secret-1' });
    const replay = (headers: Record<string, string>) =>
      gateway.request('POST', '/webhook/replay', { subscription_id: 'r', dry_run: true }, headers);
    expect(await replay({})).toMatchObject({ status: 401, body: { detail: 'Invalid replay secret' } });
    expect((await replay({ 'x-replay-secret': 'worker-secret-1' })).status).toBe(200);
  });

  it('mounts the test event in mock mode only, and calls nobody in a dry run', async () => {
    const body = { subscription_id: 'mock-1', dry_run: true };
    expect((await (await open()).request('POST', '/webhook/test', body)).status).toBe(404);
    const mock = await open({ VENDING_MOCK_MODE: 'true', VENDING_CLOUD_ENDPOINT: 'https://127.0.0.1:1' });
    expect((await mock.request('POST', '/webhook/test', body)).body).toMatchObject({
      status: 'ok',
      subscription_id: 'mock-1',
      message: expect.stringContaining('STEP_MG'),
    });
  });

  it.each([{}, { subscription_id: 'a/b' }, { subscription_id: 5 }, []])(
    'names what is wrong with %j',
    async (body) => {
      const gateway = opened[0]!;
      const answer = await gateway.request('POST', '/webhook/preflight', body);
      expect(answer.status).toBe(422);
      expect(answer.body.detail[0]).toMatchObject({
        loc: expect.arrayContaining(['body']),
        msg: expect.any(String),
      });
    },
  );
});

describe('service endpoints', () => {
  it('shows every setting of the specification, and no secret of any kind', async () => {
    const secrets = {
      VENDING_EVENT_SAS_KEY: 'planted-1',
      VENDING_WORKER_SECRET: 'planted-2',
      VENDING_STORAGE_CONNECTION_STRING:
        'DefaultEndpointsProtocol=http;AccountName=a;AccountKey=cGxhbnRlZC0z;QueueEndpoint=http://127.0.0.1:1/a;',
      VENDING_TICKET_PASSWORD: 'planted-4',
      VENDING_WEBHOOK_SECRET: 'planted-5',
      VENDING_API_NOTIFY_TOKEN: 'planted-6',
      VENDING_CLOUD_CLIENT_SECRET: 'planted-7',
    };
    const { body, text } = await (await open(secrets)).request('GET', '/config');
    expect(text).not.toMatch(/planted|cGxhbnRlZC0z/);
    expect(body).toMatchObject({
      cloud_client_secret: '***',
      worker_secret: '***',
      event_sas_key: '***',
      storage_connection_string: '***',
      ticket_password: '***',
      retry_strategy: 'none',
      provisioning_queue_name: 'provisioning-jobs',
      provisioning_dlq_name: 'provisioning-jobs-deadletter',
      queue_max_delivery_count: 5,
      queue_visibility_timeout: 30,
      mock_mode: false,
      tag_k8s: 'svc-k8s',
      environment_mg_mapping: expect.stringContaining('"production"'),
      api_open: true,
    });
  });

  it('serves both viewers and every script they name from this origin', async () => {
    const gateway = opened[0]!;
    for (const path of ['/docs', '/redoc']) {
      const page = await gateway.request('GET', path);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(page.text).not.toMatch(/https?:\/\//);
      const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
      expect(files.length).toBeGreaterThan(0);
      for (const file of files) expect((await gateway.request('GET', file)).status).toBe(200);
    }
  });

  it('describes itself in OpenAPI 3.0 with schemas that compile', async () => {
    const { body } = await opened[0]!.request('GET', '/openapi.json');
    expect(body.openapi).toMatch(/^3\.0\./);
    const ajv = new Ajv({ strict: false });
    for (const path of Object.values(body.paths as Record<string, Record<string, Operation>>)) {
      for (const operation of Object.values(path)) {
        for (const { content } of Object.values(operation.responses)) {
          if (content !== undefined) ajv.compile(content['application/json'].schema);
        }
      }
    }
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining(['/webhook/', '/runs/{subscription_id}', '/jobs/{job_id}']),
    );
  });

  it('lists no CORS headers and answers unknown paths and methods in its own dialect', async () => {
    const gateway = opened[0]!;
    const found = await gateway.request('GET', '/health', undefined, { origin: 'https://evil.example' });
    expect(found).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect([...found.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(await gateway.request('GET', '/nothing')).toMatchObject({
      status: 404,
      body: { detail: 'Not Found' },
    });
    expect((await gateway.request('PUT', '/jobs/list', {})).status).toBe(405);
    expect((await gateway.request('GET', '/runs/none')).status).toBe(404);
  });
});

describe('bearer authentication', () => {
  const TENANT = 'tenant-1';
  let gateway: GatewayHandle;
  const get = async (path: string, token?: string) =>
    gateway.request('GET', path, undefined, token === undefined ? {} : { authorization: `Bearer ${token}` });
  beforeAll(async () => {
    gateway = await open({
      VENDING_API_IDP_TENANT_ID: TENANT,
      VENDING_API_IDP_AUDIENCE: AUDIENCE,
      VENDING_API_IDP_REQUIRED_ROLE: 'Vending.Operator',
      VENDING_API_IDP_AUTHORITY: cloud.origin,
    });
  });

  it('asks for a token everywhere but at health and documentation', async () => {
    const refused = await get('/config');
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect((await gateway.request('POST', '/webhook/', [createdEvent('x')])).status).toBe(401);
    for (const path of ['/health', '/docs', '/redoc', '/openapi.json'])
      expect((await get(path)).status).toBe(200);
  });

  it('accepts a token of the tenant with the role, and no other', async () => {
    const issue = cloud.identity.issue;
    expect((await get('/config', await issue(TENANT, AUDIENCE, ['Vending.Operator']))).status).toBe(200);
    expect((await get('/config', await issue(TENANT, AUDIENCE, ['Other']))).status).toBe(403);
    expect((await get('/config', await issue('tenant-2', AUDIENCE, ['Vending.Operator']))).status).toBe(401);
    expect((await get('/config', await issue(TENANT, 'api://other', ['Vending.Operator']))).status).toBe(401);
    const unsigned = `${btoa('{"alg":"none"}')}.${btoa(`{"aud":"${AUDIENCE}","exp":9999999999}`)}.`;
    expect((await get('/config', unsigned.replaceAll('=', ''))).status).toBe(401);
  });
});

describe('trouble of our own', () => {
  it('answers 503 while the database is away, in every strategy, and never 200', async () => {
    const lost = await testDatabase();
    const gateways = await Promise.all(
      ['none', 'dead_letter'].map((strategy) =>
        vendingGateway(lost, { ...cloud.settings, VENDING_RETRY_STRATEGY: strategy }),
      ),
    );
    await lost.drop();
    for (const gateway of gateways) {
      const answer = await gateway.request('POST', '/webhook/', [createdEvent('lost')]);
      expect(answer.status).toBeGreaterThanOrEqual(500);
      await gateway.close();
    }
  });
});
