import { startOidcIssuer } from '../../scripts/stack/oidc/issuer.js';
import { admin, brokerGateway, json, pendingMachines, withSql } from '../support/broker.js';
import type { BenchCase } from '../support/case.js';
import type { Measurement } from '../support/report.js';

const approve: BenchCase = {
  name: 'broker/approve-single',
  run: async (world) => {
    const { url, gateway, database } = await brokerGateway(world);
    const amount = 6_000;
    const machines = await pendingMachines(database, amount + 500);
    let next = 0;
    const measured = await world.drive('POST approve, single control', {
      process: gateway,
      database,
      amount,
      url,
      method: 'POST',
      headers: { ...json, ...admin },
      body: JSON.stringify({ role: 'worker-app' }),
      request: () => ({ path: `/api/v1/machines/${machines[next++] ?? ''}/approve` }),
    });
    const verdict = (await (await fetch(`${url}/api/v1/audit/verify`, { headers: admin })).json()) as {
      valid: boolean;
      entries: number;
    };
    const rows = await withSql(
      { ...measured, note: `chain valid: ${String(verdict.valid)}, ${verdict.entries} entries` },
      {
        url: database.url,
        name: 'chained audit row, one function call',
        text: `select audit_append('approve', null, $1, 'registered', 'bench', 'pending_approval', null, null, null)`,
        values: (n) => [String(n)],
      },
    );
    await gateway.stop();
    return rows;
  },
};

const dualControl: BenchCase = {
  name: 'broker/approve-dual',
  run: async (world) => {
    const issuer = await startOidcIssuer();
    const broker = await brokerGateway(world, {
      TEMPORAL_ADDRESS: await world.temporal(),
      SVC_DUAL_CONTROL_ROLES: 'controlplane',
      SVC_OIDC_ISSUER: issuer.url,
    });
    const workers = await world.start('workers/main.js', {
      env: { ...broker.env, LOG_LEVEL: 'info' },
      readyText: '"msg":"workers run"',
    });
    const tokens = await Promise.all(['ann', 'ben'].map((name) => issuer.tokenFor(name)));
    const voting = async (connections: number, amount: number): Promise<Measurement> => {
      const machines = await pendingMachines(broker.database, amount + 100);
      let next = 0;
      return world.drive(`POST approve, dual control, ${connections} at once`, {
        process: broker.gateway,
        connections,
        amount,
        url: broker.url,
        method: 'POST',
        headers: json,
        body: JSON.stringify({ role: 'controlplane' }),
        request: () => {
          const vote = next++;
          return {
            path: `/api/v1/machines/${machines[Math.floor(vote / 2)] ?? ''}/approve`,
            headers: { authorization: `Bearer ${tokens[vote % 2] ?? ''}` },
          };
        },
      });
    };
    await voting(1, 40);
    const rows = [await voting(1, 300), await voting(8, 600)];
    await workers.stop();
    await broker.gateway.stop();
    await issuer.stop();
    return rows;
  },
};

const verify = (entries: number): BenchCase => ({
  name: `broker/audit-verify-${entries > 100_000 ? '1m' : '10k'}`,
  run: async (world) => {
    const { url, gateway, database } = await brokerGateway(world);
    await database.db.raw(
      `select count(audit_append('lock', 'bench', gen_random_uuid()::text, 'locked', 'bench', 'attested', null, null, null))
       from generate_series(1, ?::int)`,
      [entries],
    );
    const residentBefore = gateway.residentBytes();
    const measured = await world.drive(`GET audit/verify, ${entries.toLocaleString('en')} rows`, {
      process: gateway,
      url: `${url}/api/v1/audit/verify`,
      headers: admin,
      connections: 1,
      amount: entries > 100_000 ? 2 : 20,
    });
    const grown = Math.round((gateway.residentBytes() - residentBefore) / 2 ** 20);
    await gateway.stop();
    const rate = Math.round(measured.perSecond * entries).toLocaleString('en');
    return [
      {
        ...measured,
        name: `GET audit/verify, ${entries.toLocaleString('en')} rows`,
        connections: 1,
        note: `${rate} rows/s, memory +${grown} MiB`,
      },
    ];
  },
});

export const brokerActCases: readonly BenchCase[] = [approve, dualControl, verify(10_000), verify(1_000_000)];
