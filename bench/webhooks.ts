/** Deliveries per second through the whole path: event, outbox, relay, workflow, attempt row, request to a local sink. */
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import { createOutbound } from '../activities/adapters/http.js';
import { publishWebhookEvent } from '../activities/broker/publish-event.js';
import { createWebhookActivities } from '../activities/broker/webhook-activities.js';
import { createWebhooks } from '../activities/broker/webhooks.js';
import { createKeyRing } from '../activities/crypto/key-ring.js';
import { connectDatabase } from '../db/connect.js';
import { DELIVERY_TOPIC } from '../db/broker/webhook-messages.js';
import { migrate } from '../db/migrate.js';
import { systemClock } from '../domain/clock.js';
import { createDeliveryStarter } from '../workers/delivery-starter.js';
import { startRelay } from '../workers/relay.js';
import { builtBundle, runWorkers } from '../workers/run.js';
import { queues } from '../workflows/queues.js';

const env = (name: string, fallback: string): string => process.env[name] ?? fallback;
const events = Number(env('BENCH_EVENTS', '2000'));
Runtime.install({ logger: new DefaultLogger('ERROR') });
const log = { debug: () => undefined, info: () => undefined, warn: console.warn, error: console.error };

const db = connectDatabase({ DATABASE_URL: env('DATABASE_URL', ''), DATABASE_POOL_MAX: 20 }, 'bench');
await migrate(db);
let received = 0;
const ids = new Set<string>();
const sink = createServer((req, res) => {
  req.resume().on('end', () => {
    received += 1;
    ids.add(String(req.headers['webhook-id']));
    res.end();
  });
});
await new Promise<void>((done) => sink.listen(0, '127.0.0.1', done));
const policy = { allowHttp: true, allowedCidrs: ['127.0.0.0/8'] };
const deps = {
  db,
  clock: systemClock,
  keys: createKeyRing({ masterKey: randomBytes(32).toString('hex'), previousKeys: [] }),
  outbound: createOutbound({ policy }),
  schedule: [1000],
};
const actor = {
  operatorCn: 'bench',
  identity: 'bench',
  context: { requestId: null, sourceAddress: null, method: 'system' },
};
await db('webhooks').update({ enabled: false });
await createWebhooks({ ...deps, defaultRateLimitPerMinute: 0 }).create(actor, {
  url: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`,
  events: ['machine.registered'],
  secret: 'bench',
});
const eager = env('EAGER', '0') === '1';
const connection = await NativeConnection.connect({ address: env('TEMPORAL_ADDRESS', '') });
const client = eager
  ? new Client({ connection })
  : new Client({ connection: await Connection.connect({ address: env('TEMPORAL_ADDRESS', '') }) });
const bundle = process.env['BUNDLE'];
const workers = await runWorkers(connection, 'default', 400, [
  {
    queue: queues.webhooks,
    activities: createWebhookActivities({ ...deps, retentionDays: 30 }),
    workflowBundle: bundle === undefined ? builtBundle('broker') : { codePath: bundle },
    options: { maxConcurrentLocalActivityExecutions: 200 },
  },
]);
const relay = startRelay({
  db,
  databaseUrl: env('DATABASE_URL', ''),
  log,
  handlers: {},
  senders: { [DELIVERY_TOPIC]: createDeliveryStarter(client) },
});

const cpu0 = process.cpuUsage();
const began = Date.now();
for (let i = 0; i < events; i += 50)
  await db.transaction(async (trx) => {
    for (let j = 0; j < 50; j += 1)
      await publishWebhookEvent(
        trx,
        { eventType: 'machine.registered', machineId: randomUUID(), data: {} },
        { now: new Date() },
      );
  });
const published = Date.now() - began;
let lastReport = 0;
while (ids.size < events && Date.now() - began < 300_000) {
  await new Promise((done) => setTimeout(done, 50));
  if (Date.now() - lastReport > 5000) {
    lastReport = Date.now();
    console.log(`${ids.size} after ${Date.now() - began} ms`);
  }
}
const ms = Date.now() - began;
const cpu = process.cpuUsage(cpu0);
const { rows } = await db.raw<{ rows: unknown[] }>(`select state, count(*) from webhook_messages group by 1`);
console.log({
  events,
  published,
  ms,
  perSecond: Math.round((events / ms) * 1000),
  received,
  distinct: ids.size,
  cpuMsEach: (cpu.user + cpu.system) / 1000 / events,
  rows,
});
await relay.stop();
await workers.shutdown();
await deps.outbound.close();
sink.close();
await db.destroy();
process.exit(0);
