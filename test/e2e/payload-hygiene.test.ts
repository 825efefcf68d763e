import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fetchHistory, historyText } from '../../api/cli/sre/history.js';
import { eventually } from '../support/eventually.js';
import { softwareEk } from '../support/ek.js';
import { httpClient } from '../support/http.js';
import type { HttpClient } from '../support/http.js';
import type { Operators } from '../support/operators.js';
import { startOperators } from '../support/operators.js';
import { findLeaks, plantSecrets } from '../support/planted-secrets.js';
import type { TestDatabase } from '../support/postgres.js';
import { testDatabase } from '../support/postgres.js';
import type { Gateway, Restartable } from '../support/processes.js';
import { buildOnce, roleConfigFolder, startGateway, startWorkers } from '../support/processes.js';
import { temporalServer } from '../support/temporal.js';
import type { TestWorkflowEnvironment } from '@temporalio/testing';

describe('payload hygiene', () => {
  const planted = plantSecrets();
  const configs = roleConfigFolder();
  let server: TestWorkflowEnvironment;
  let database: TestDatabase;
  let operators: Operators;
  let workers: Restartable;
  let gateway: Gateway;
  const secrets: Record<string, string> = { ...planted };
  const machines: string[] = [];

  beforeAll(async () => {
    await buildOnce();
    [server, database, operators] = await Promise.all([temporalServer(), testDatabase(), startOperators()]);
    // Outbox rows leave the table when they are carried out: a copy of each is kept to be searched.
    await database.db.raw(`
      create table outbox_seen (topic text, key text, payload text);
      create function keep_outbox() returns trigger language plpgsql as $$
        begin insert into outbox_seen values (new.topic, new.key, new.payload::text); return new; end $$;
      create trigger keep_outbox after insert on outbox for each row execute function keep_outbox();
    `);
    const env = {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: server.address,
      LOG_LEVEL: 'debug',
      SVC_ADMIN_TOKEN: planted.adminToken,
      SVC_REGISTER_TOKEN: planted.registerToken,
      SVC_OIDC_ISSUER: operators.issuerUrl,
      SVC_DUAL_CONTROL_ROLES: 'controlplane',
      SVC_FACTORY_URL: 'http://127.0.0.1:9',
      SVC_CONFIG_CACHE_DIR: configs.path,
      SVC_ENROLLMENT_CA_DIR: `${configs.path}/ca`,
      SVC_SHARED_SECRET_MASTER_KEY: planted.masterKey,
    };
    [workers, gateway] = await Promise.all([startWorkers(env), startGateway(env)]);
    await playTheBroker();
  }, 180_000);
  afterAll(async () => {
    await Promise.all([gateway.stop(), workers.stop()]);
    await Promise.all([server.teardown(), database.drop(), operators.stop()]);
    configs.remove();
  });

  const register = async (node: HttpClient): Promise<{ ek: object; path: string }> => {
    const ek = softwareEk();
    secrets[`EK material ${machines.length}`] = ek.ek_cert_pem;
    const { body } = await node.post('/api/v1/self-register', ek);
    machines.push(body.machine_id as string);
    return { ek, path: `/api/v1/machines/${String(body.machine_id)}` };
  };

  /** Every flow that has a workflow or an outbox row, and refused calls that carry secrets. */
  const playTheBroker = async (): Promise<void> => {
    const node = httpClient(gateway.url);
    const admin = httpClient(gateway.url, { authorization: `Bearer ${planted.adminToken}` });
    const ann = operators.headers('ann');
    const ben = operators.headers('ben');
    secrets['operator JWT'] = ann.authorization.slice('Bearer '.length);
    secrets['signature of a JWT'] = ben.authorization.split('.').at(-1)!;

    for (const role of ['controlplane', 'worker-app']) {
      const { ek, path } = await register(node);
      await httpClient(gateway.url, ann).post(`${path}/approve`, { role });
      await httpClient(gateway.url, ben).post(`${path}/approve`, { role });
      const { body } = await node.post('/api/v1/attest', ek);
      secrets[`config token ${role}`] = body.config_token as string;
      expect((await node.get(`/api/v1/config/${String(body.config_token)}`)).status).toBe(200);
      const { body: challenge } = await node.get('/api/v1/attest/challenge');
      secrets[`nonce ${role}`] = challenge.nonce as string;
      await node.post('/api/v1/attest', { ...ek, nonce_id: challenge.nonce_id });
      await admin.post(`${path}/lock`, { reason: 'inspection' });
      await admin.post(`${path}/unlock`);
      await admin.post(`${path}/revoke`, { wipe: true, reason: 'hygiene' });
      await node.post('/api/v1/attest', ek);
      await admin.post(`${path}/wipe-complete`);
    }
    const refused = `planted-refused-${randomUUID()}`;
    secrets['refused bearer token'] = refused;
    secrets['refused config token'] = `planted-config-${randomUUID()}`;
    await httpClient(gateway.url, { authorization: `Bearer ${refused}` }).get('/api/v1/machines');
    await node.get(`/api/v1/config/${secrets['refused config token']}`);
    await node.post('/api/v1/register', softwareEk(), { authorization: `Bearer ${planted.registerToken}` });
    await node.post('/api/v1/attest', `{"ek_cert_pem": "${planted.registerToken}", broken`);
  };

  const histories = async (): Promise<Record<string, string>> => {
    const found: Record<string, string> = {};
    for await (const { workflowId, runId, type } of server.client.workflow.list()) {
      const history = await fetchHistory(server.client, workflowId, runId);
      const payloads = JSON.stringify(history, (_key, value: unknown) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : value,
      );
      found[`history of ${type} ${workflowId}`] = `${historyText(history)}\n${payloads}`;
    }
    return found;
  };

  it('keeps every planted secret out of histories, logs, audit, events and outbox', async () => {
    await eventually(async () => {
      const { rows } = await server.client.workflowService
        .countWorkflowExecutions({ namespace: 'default', query: "WorkflowType = 'revokeAndWipe'" })
        .then(({ count }) => ({ rows: Number(count) }));
      return rows === machines.length;
    });
    const { db } = database;
    const places = {
      ...(await histories()),
      'gateway log': gateway.current().output(),
      'worker log': workers.current().output(),
      audit: JSON.stringify(await db('audit_log').select('*')),
      'audit context': JSON.stringify(await db('audit_context').select('*')),
      'outbox rows': JSON.stringify(await db('outbox_seen').select('*')),
      'waiting outbox rows': JSON.stringify(await db('outbox').select('*')),
      votes: JSON.stringify(await db('approval_requests').select('*')),
    };
    expect(Object.keys(places).filter((place) => place.startsWith('history of'))).not.toHaveLength(0);
    for (const text of Object.values(places)) expect(text.length).toBeGreaterThan(1);
    expect(places['outbox rows']).toContain(machines[0]);
    expect(places['gateway log']).toContain('"route"');
    expect(findLeaks(secrets, places)).toEqual([]);
  });

  it('finds a secret that is there, in whatever spelling', () => {
    const secret = planted.adminToken;
    const places = {
      plain: `x${secret}x`,
      encoded: Buffer.from(secret).toString('base64'),
      hex: Buffer.from(secret).toString('hex').toUpperCase(),
      clean: 'nothing here',
    };
    expect(findLeaks({ secret }, places).map(({ place }) => place)).toEqual(['plain', 'encoded', 'hex']);
  });
});
