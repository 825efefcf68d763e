import type { BenchCase } from '../support/case.js';
import { json } from '../support/broker.js';
import { eventBody, vendingGateway } from '../support/vending.js';

const handshake = JSON.stringify([
  {
    id: '1',
    subject: '',
    eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
    data: { validationCode: 'code' },
  },
]);

const cheap: BenchCase = {
  name: 'vending/cheap',
  run: async (world) => {
    const bench = await vendingGateway(world);
    const { url, gateway: process } = bench;
    const post = { process, method: 'POST', headers: json } as const;
    const dryRun = JSON.stringify({ subscription_id: 'bench', dry_run: true });
    const plan = JSON.stringify({ subscription_id: 'bench' });
    bench.cloud.store.put('subscriptions', 'bench', {
      id: 'bench',
      displayName: 'b',
      tags: {},
      writableAt: 0,
      group: '',
    });
    const measured = [
      await world.drive('GET /health', { process, url: `${url}/health` }),
      await world.drive('POST /webhook/ handshake', { ...post, url: `${url}/webhook/`, body: handshake }),
      await world.drive('GET /config', { process, url: `${url}/config` }),
      await world.drive('POST /webhook/test dry run: the plan alone', {
        ...post,
        url: `${url}/webhook/test`,
        body: dryRun,
      }),
      await world.drive('POST /webhook/preflight, tags read from the cloud', {
        ...post,
        url: `${url}/webhook/preflight`,
        body: plan,
      }),
    ];
    await bench.stop();
    return measured;
  },
};

const accepted: BenchCase = {
  name: 'vending/accepted',
  run: async (world) => {
    const rows = [];
    for (const queues of [false, true]) {
      const bench = await vendingGateway(world, { queues });
      rows.push(
        await world.drive(`POST /webhook/ new event, strategy ${queues ? 'queue' : 'none, not waiting'}`, {
          process: bench.gateway,
          database: bench.database,
          url: `${bench.url}/webhook/`,
          method: 'POST',
          headers: json,
          request: () => ({ body: eventBody() }),
        }),
      );
      await bench.stop();
    }
    return rows;
  },
};

const LISTED = 1_000;

const runsList: BenchCase = {
  name: 'vending/runs',
  run: async (world) => {
    const bench = await vendingGateway(world);
    await bench.database.db.raw(
      `with made as (
         insert into vending_runs (subscription_key, subscription_id, subscription_name, management_group_id, trigger,
           triggered_by, event_id, workflow_id, status)
         select 's' || i, 's' || i, '', '', 'event', 'bench', i::text, 'provision:s' || i, 'succeeded'
         from generate_series(1, ?::int) i returning id
       )
       insert into vending_run_steps (run_id, name, position, status)
       select id, 'STEP_' || n, n, 'done' from made, generate_series(1, 6) n`,
      [LISTED],
    );
    const measured = await world.drive(`GET /runs, 50 of ${LISTED}`, {
      process: bench.gateway,
      database: bench.database,
      url: `${bench.url}/runs`,
    });
    await bench.stop();
    return [measured];
  },
};

const BURST = 10_000;
const WHOLE_RUNS = 300;

/** Events all at once; how fast they are accepted, and how fast whole runs come out at the other end. */
const burst: BenchCase = {
  name: 'vending/burst',
  run: async (world) => {
    const bench = await vendingGateway(world);
    const env = { ...bench.env, LOG_LEVEL: 'info', TEMPORAL_ADDRESS: await world.temporal() };
    const ids = Array.from({ length: BURST }, (_, i) => `burst-${i}`);
    for (const id of ids) {
      bench.cloud.store.put('subscriptions', id, {
        id,
        displayName: id,
        tags: { 'svc-budget': '9' },
        writableAt: 0,
        group: '',
      });
    }
    let next = 0;
    const accepting = await world.drive(`POST /webhook/, ${BURST} events at once`, {
      process: bench.gateway,
      url: `${bench.url}/webhook/`,
      method: 'POST',
      headers: json,
      amount: BURST,
      request: () => ({ body: eventBody(ids[next++ % BURST]) }),
    });
    const workers = await world.start('workers/main.js', { env, readyText: '"msg":"workers run"' });
    const { db } = bench.database;
    const started = performance.now();
    const ended = async () => (await db('vending_runs').where({ status: 'succeeded' })).length;
    let done = 0;
    while (done < WHOLE_RUNS && performance.now() - started < 180_000) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      done = await ended();
    }
    const seconds = (performance.now() - started) / 1000;
    await workers.stop();
    await bench.stop();
    return [
      accepting,
      {
        ...accepting,
        name: 'whole six-step runs while the backlog drains',
        note: `${done} runs in ${seconds.toFixed(1)} s; ${BURST} take about ${((BURST * seconds) / Math.max(1, done) / 60).toFixed(0)} min`,
        perSecond: done / seconds,
        requests: done,
      },
    ];
  },
};

export const vendingCases: readonly BenchCase[] = [cheap, accepted, runsList, burst];
