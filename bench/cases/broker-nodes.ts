import type { BenchCase } from '../support/case.js';
import { admin, brokerGateway, json, newNode, pendingMachines, post, withSql } from '../support/broker.js';

const cheapReads: BenchCase = {
  name: 'broker/reads',
  run: async (world) => {
    const { url, gateway, database } = await brokerGateway(world);
    const process = gateway;
    const health = await world.drive('GET /healthz', { process, url: `${url}/healthz` });
    const challenge = { process, url: `${url}/api/v1/attest/challenge` };
    const first = await world.drive('GET attest/challenge, store empty at start', challenge);
    const later = await world.drive('GET attest/challenge, store filled by the line above', challenge);
    await gateway.stop();
    await database.db.destroy();
    return [health, first, { ...later, note: `store grew by ${first.requests} and more` }];
  },
};

const attestPoll: BenchCase = {
  name: 'broker/attest-poll',
  run: async (world) => {
    const { url, gateway, database } = await brokerGateway(world);
    const node = newNode();
    const { machine_id: id } = (await post(`${url}/api/v1/self-register`, node)) as { machine_id: string };
    await post(`${url}/api/v1/machines/${id}/approve`, JSON.stringify({ role: 'worker-app' }), admin);
    const { config_url } = (await post(`${url}/api/v1/attest`, node)) as { config_url: string };
    await fetch(`${url}${new URL(config_url).pathname}`);
    const measured = await world.drive('POST attest, poll of a known machine', {
      process: gateway,
      database,
      url: `${url}/api/v1/attest`,
      method: 'POST',
      headers: json,
      body: node,
    });
    const { ek_fingerprint: fingerprint } = JSON.parse(node) as { ek_fingerprint: string };
    const rows = await withSql(measured, {
      url: database.url,
      name: 'machine by fingerprint',
      text: `select m.*, t.consumed_at from machines m left join config_tokens t on t.token_sha256 = m.config_token_sha256
             where m.ek_fingerprint = $1`,
      values: () => [fingerprint],
    });
    await gateway.stop();
    return rows;
  },
};

const selfRegister: BenchCase = {
  name: 'broker/self-register',
  run: async (world) => {
    const { url, gateway, database } = await brokerGateway(world);
    const bodies = Array.from({ length: 30_000 }, newNode);
    let next = 0;
    const measured = await world.drive('POST self-register, new machine', {
      process: gateway,
      database,
      url: `${url}/api/v1/self-register`,
      method: 'POST',
      headers: json,
      request: () => ({ body: bodies[next++ % bodies.length] ?? '' }),
    });
    const rows = await withSql(measured, {
      url: database.url,
      name: 'insert of one machine row',
      text: `insert into machines (machine_id, ek_fingerprint, ek_source, role, status)
             values (gen_random_uuid(), gen_random_uuid()::text, 'pub', 'worker-app', 'pending_approval')`,
    });
    await gateway.stop();
    return rows;
  },
};

const listMachines: BenchCase = {
  name: 'broker/list',
  run: async (world) => {
    const { url, gateway, database } = await brokerGateway(world);
    await pendingMachines(database, 1_000);
    const measured = await world.drive('GET machines, 1,000 of them', {
      process: gateway,
      database,
      url: `${url}/api/v1/machines`,
      headers: admin,
      connections: 4,
    });
    const rows = await withSql(measured, {
      url: database.url,
      name: 'select of 1,000 machine rows',
      text: 'select * from machines order by registered_at, machine_id',
      connections: 4,
    });
    await gateway.stop();
    return rows;
  },
};

export const brokerNodeCases: readonly BenchCase[] = [cheapReads, attestPoll, selfRegister, listMachines];
