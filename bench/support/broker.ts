import { createHash, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RunningProcess } from './processes.js';
import type { Measurement } from './report.js';
import { driveSql } from './sql.js';
import type { BenchDatabase, BenchWorld } from './world.js';

const ADMIN_TOKEN = 'bench-admin-token';
export const admin = { authorization: `Bearer ${ADMIN_TOKEN}` };
export const json = { 'content-type': 'application/json' };

export interface BrokerBench {
  readonly url: string;
  readonly gateway: RunningProcess;
  readonly database: BenchDatabase;
  readonly env: Readonly<Record<string, string>>;
}

/** A gateway on a database of its own; `env` over the settings of a bench. */
export const brokerGateway = async (
  world: BenchWorld,
  env: Readonly<Record<string, string>> = {},
): Promise<BrokerBench> => {
  const database = await world.database('broker');
  const port = await world.port();
  const configs = world.folder();
  writeFileSync(join(configs, 'worker-app-final.yaml'), 'version: v1alpha1\nmachine:\n  type: worker\n');
  const settings = {
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    DATABASE_URL: database.url,
    SVC_PORT: String(port),
    SVC_ADMIN_TOKEN: ADMIN_TOKEN,
    SVC_IAC_ENABLED: 'false',
    SVC_RATE_LIMIT_PER_MINUTE: '0',
    SVC_NONCE_CAPACITY: '10000000',
    SVC_ISO_URL: 'https://images.test/node.iso',
    SVC_CONFIG_CACHE_DIR: configs,
    SVC_ENROLLMENT_CA_DIR: join(configs, 'ca'),
    SVC_SHARED_SECRET_MASTER_KEY: randomBytes(32).toString('hex'),
    ...env,
  };
  const url = `http://127.0.0.1:${port}`;
  const gateway = await world.start('api/broker/main.js', { env: settings, readyUrl: `${url}/healthz` });
  return { url, gateway, database, env: settings };
};

/** EK material of a new machine, as JSON text of a registration. P-256: the cheapest key that is a real one. */
export const newNode = (): string => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return JSON.stringify({
    ek_fingerprint: createHash('sha384').update(spki).digest('hex'),
    ek_cert_pem: spki.toString('base64'),
    ek_source: 'pub',
  });
};

export const post = async (
  url: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<unknown> => {
  const response = await fetch(url, { method: 'POST', body, headers: { ...json, ...headers } });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
};

export const pendingMachines = async ({ db }: BenchDatabase, count: number): Promise<readonly string[]> => {
  const { rows } = await db.raw<{ rows: { machine_id: string }[] }>(
    `insert into machines (machine_id, ek_fingerprint, ek_fingerprint_sha384, ek_source, role, status)
     select gen_random_uuid(), f, f, 'pub', 'worker-app', 'pending_approval'
     from (select encode(sha256(convert_to(?::text || i, 'UTF8')), 'hex') || repeat('0', 32) as f
           from generate_series(1, ?::int) as i) fresh
     returning machine_id`,
    [randomUUID(), count],
  );
  return rows.map((row) => row.machine_id);
};

export const withSql = async (
  measured: Measurement,
  options: Parameters<typeof driveSql>[0],
): Promise<readonly Measurement[]> => {
  const bare = await driveSql(options);
  return [
    { ...measured, ofBareSql: measured.perSecond / bare.perSecond },
    { name: `  bare SQL: ${options.name}`, connections: options.connections ?? 16, ...bare },
  ];
};
