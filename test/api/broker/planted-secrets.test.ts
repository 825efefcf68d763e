import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { softwareRsaEk } from '../../support/ek.js';
import { attestedNode } from '../../support/nodes.js';
import { startWebhookSink } from '../../support/webhook-sink.js';
import type { WebhookSink } from '../../support/webhook-sink.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

/** Every row of every table as text, bytea as hex. */
const dump = async (world: BrokerWorld): Promise<string> => {
  const { rows } = await world.db.raw<{ rows: { name: string }[] }>(
    `select tablename as name from pg_tables where schemaname = 'public'`,
  );
  const texts = await Promise.all(
    rows.map(async ({ name }) => {
      const table = await world.db.raw<{ rows: { text: string }[] }>('select t::text as text from ?? t', [
        name,
      ]);
      return table.rows.map((row) => row.text).join('\n');
    }),
  );
  return texts.join('\n');
};

describe('planted secret values', () => {
  let world: BrokerWorld;
  let sink: WebhookSink;
  const planted: string[] = [];
  const plant = (): string => {
    const value = `planted-${randomBytes(12).toString('hex')}`;
    planted.push(value);
    return value;
  };
  const logged: string[] = [];
  const write = process.stdout.write.bind(process.stdout);
  beforeAll(async () => {
    process.stdout.write = (chunk: string | Uint8Array) => {
      logged.push(String(chunk));
      return true;
    };
    process.env['TEST_LOG_LEVEL'] = 'trace';
    world = await brokerWorld({
      worker: true,
      settings: {
        SVC_WEBHOOK_ALLOW_HTTP: 'true',
        SVC_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
        SVC_ADMIN_TOKEN: 'test-admin-token',
      },
    });
    sink = await startWebhookSink();
  });
  afterAll(async () => {
    process.stdout.write = write;
    delete process.env['TEST_LOG_LEVEL'];
    await sink.close();
    await world.close();
  });

  it('appear in no log, event, history, metric, error, listing or row', async () => {
    const answers: string[] = [];
    const seen = async <T extends { text: string }>(call: Promise<T>): Promise<T> => {
      const answer = await call;
      answers.push(answer.text);
      return answer;
    };
    const { identity } = await softwareRsaEk();
    const node = await attestedNode(world, identity);
    const secrets = `/api/v1/secrets/machines/${node.machineId}/secrets`;
    const hooks = await Promise.all(
      Array.from({ length: 10 }, () =>
        seen(
          world.admin.post('/api/v1/webhooks', {
            url: sink.url,
            events: ['secret.accessed', 'secret.created'],
            secret: plant(),
          }),
        ),
      ),
    );
    for (let i = 0; i < 10; i += 1) {
      await seen(world.admin.post(secrets, { name: `m-${i}`, value: plant() }));
      await seen(world.node.get(`${secrets}/m-${i}`, node.proof));
      const shared = await seen(
        world.admin.post('/api/v1/shared-secrets', { name: `s-${i}`, value: plant() }),
      );
      const path = `/api/v1/shared-secrets/${String(shared.body.shared_secret_id)}`;
      await seen(world.admin.put(path, { value: plant() }));
      await seen(world.admin.post(`${path}/access`, { machine_ids: [node.machineId] }));
      await world.node.get(`/api/v1/shared-secrets/by-name/s-${i}/value`, node.proof);
    }
    // Refused bodies: the value must not come back in the error.
    await seen(world.admin.post(secrets, { name: 7, value: planted[0] }));
    await seen(world.admin.post('/api/v1/shared-secrets', { name: 's-1', value: planted[1] }));
    await seen(world.admin.post('/api/v1/webhooks', { url: 'ftp://x', events: [], secret: planted[2] }));
    await seen(
      world.admin.put(`/api/v1/webhooks/${String(hooks[0]!.body.webhook_id)}`, {
        secret: planted[3],
        url: 'http://10.0.0.1/',
      }),
    );
    expect(planted).toHaveLength(40);
    await eventually(() => sink.requests.length >= 10 * 40, 60_000);

    for (const path of [
      '/api/v1/webhooks',
      '/api/v1/shared-secrets',
      secrets,
      '/api/v1/audit?per_page=200',
      '/metrics',
    ])
      await seen(world.admin.get(path));
    const histories: string[] = [];
    for await (const run of world.temporal!.client.workflow.list()) {
      const handle = world.temporal!.client.workflow.getHandle(run.workflowId, run.runId);
      histories.push(decodeStrings(await handle.fetchHistory()));
    }
    expect(histories.length).toBeGreaterThan(0);
    const places = {
      answers: answers.join('\n'),
      events: JSON.stringify(sink.requests),
      logs: logged.join('\n'),
      rows: await dump(world),
      histories: histories.join('\n'),
      processes: execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }),
    };
    expect(places.logs).toContain('"msg":"request"');
    for (const [place, text] of Object.entries(places)) {
      const found = planted.filter((value) =>
        [value, hex(value), base64(value)].some((form) => text.includes(form)),
      );
      expect({ place, found }).toEqual({ place, found: [] });
    }
  }, 240_000);
});

const hex = (text: string): string => Buffer.from(text).toString('hex');
/** Without the ends, whose characters depend on what stands beside. */
const base64 = (text: string): string => Buffer.from(text).toString('base64').slice(0, -4);

/** A history with its payloads as text. */
const decodeStrings = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) =>
    item instanceof Uint8Array
      ? Buffer.from(item).toString('latin1')
      : typeof item === 'bigint'
        ? String(item)
        : item,
  );
