import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { BenchCase } from '../support/case.js';
import { summarise } from '../support/drive.js';
import type { IacGateway } from '../support/iac-gateway.js';
import { IAC_ORG, IAC_TOKEN, startIacGateway } from '../support/iac-gateway.js';
import type { Measurement } from '../support/report.js';
import type { BenchWorld } from '../support/world.js';

const MEBIBYTE = 1_048_576;
const BASE = `/api/stacks/${IAC_ORG}/bench`;
const operator = { Authorization: `token ${IAC_TOKEN}`, 'Content-Type': 'application/json' };

const resource = (n: number) => ({
  urn: `urn:pulumi:dev::bench::pulumi:index:Stash::resource-${n}`,
  custom: true,
  id: randomBytes(16).toString('hex'),
  type: 'pulumi:index:Stash',
  inputs: { input: randomBytes(90).toString('base64'), nested: { list: [1, 2, n], text: 'a\nb' } },
  outputs: { output: randomBytes(90).toString('base64'), nested: { list: [1, 2, n] } },
  parent: 'urn:pulumi:dev::bench::pulumi:pulumi:Stack::bench-dev',
  dependencies: [`urn:pulumi:dev::bench::pulumi:index:Stash::resource-${n - 1}`],
  created: '2026-01-01T00:00:00Z',
});

/** A checkpoint body of about that many bytes. */
const checkpoint = (bytes: number): string => {
  const resources = Array.from({ length: Math.ceil(bytes / JSON.stringify(resource(1000)).length) }, (_, n) =>
    resource(n),
  );
  return JSON.stringify({ isInvalid: false, version: 3, deployment: { manifest: {}, resources } });
};

const call = async (
  url: string,
  method: string,
  body: object,
  headers: Record<string, string> = operator,
) => {
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
};

const createStack = (gateway: IacGateway, stackName: string) =>
  call(`${gateway.url}${BASE}`, 'POST', { stackName });

const startUpdate = async (gateway: IacGateway, stack: string, journalVersion: number) => {
  const { updateID } = await call(`${gateway.url}${BASE}/${stack}/update`, 'POST', {});
  const path = `${BASE}/${stack}/update/${String(updateID)}`;
  const { token } = await call(`${gateway.url}${path}`, 'POST', { journalVersion });
  return { path, headers: { ...operator, Authorization: `update-token ${String(token)}` } };
};

/** How long each of a row of health checks waits while `work` runs: as long as something holds the event loop. */
const waitsDuring = async (gateway: IacGateway, work: Promise<unknown>): Promise<readonly number[]> => {
  const progress = { isOver: false };
  const over = work.finally(() => (progress.isOver = true));
  const waits: number[] = [];
  while (!progress.isOver) {
    const started = performance.now();
    await (await fetch(`${gateway.url}/healthz`)).arrayBuffer();
    waits.push(performance.now() - started);
  }
  await over;
  return waits;
};

const entry = (sequenceID: number) => ({
  version: 1,
  kind: 1,
  sequenceID,
  operationID: sequenceID,
  removeOld: null,
  removeNew: null,
  state: resource(sequenceID),
});

const journalCase = async (world: BenchWorld, gateway: IacGateway): Promise<Measurement> => {
  const { path, headers } = await startUpdate(gateway, 'journal', 1);
  const states = Array.from({ length: 100 }, (_, n) => entry(n));
  let next = 1;
  return world.drive('journal batch of 100 entries', {
    process: gateway.process,
    url: gateway.url,
    method: 'PATCH',
    connections: 4,
    seconds: 4,
    headers,
    request: () => ({
      path: `${path}/journalentries`,
      body: JSON.stringify({ entries: states.map((state) => ({ ...state, sequenceID: next++ })) }),
    }),
  });
};

const checkpointCases = async (world: BenchWorld, gateway: IacGateway): Promise<Measurement[]> => {
  const { path, headers } = await startUpdate(gateway, 'checkpoint', 0);
  const common = { process: gateway.process, method: 'PATCH', connections: 2, seconds: 4 } as const;
  const url = `${gateway.url}${path}/checkpoint`;
  const body = checkpoint(MEBIBYTE);
  const plain = await world.drive('1 MB checkpoint, plain', { ...common, url, headers, body });
  const gzip = { ...headers, 'Content-Encoding': 'gzip' };
  const packed = await world.drive('1 MB checkpoint, gzip', {
    ...common,
    url,
    headers: gzip,
    body: gzipSync(body),
  });
  const large = gzipSync(checkpoint(32 * MEBIBYTE));
  const waits = await waitsDuring(
    gateway,
    (async () => {
      for (let n = 0; n < 3; n++) {
        const response = await fetch(url, { method: 'PATCH', headers: gzip, body: large });
        if (!response.ok) throw new Error(`32 MB: ${response.status}`);
      }
    })(),
  );
  const held = { name: 'health check during 32 MB checkpoints', ...summarise(waits, 1), perSecond: 0 };
  return [plain, packed, { ...held, note: `longest wait ${Math.max(...waits).toFixed(1)} ms` }];
};

const readCases = async (world: BenchWorld, gateway: IacGateway): Promise<Measurement[]> => {
  const common = { process: gateway.process, connections: 8, seconds: 4 };
  const state = `${gateway.url}${BASE}/checkpoint/export`;
  const list = `${gateway.url}/api/user/stacks?organization=${IAC_ORG}`;
  return [
    await world.drive('export of 1 MB, gzip', {
      ...common,
      url: state,
      headers: { ...operator, 'Accept-Encoding': 'gzip' },
    }),
    await world.drive('export of 1 MB, identity', {
      ...common,
      url: state,
      headers: { ...operator, 'Accept-Encoding': 'identity' },
    }),
    await world.drive('list of 100 of 1,000 stacks', { ...common, url: list, headers: operator }),
  ];
};

/** Single calls at the server, with the gateway's CPU time. */
export const iacHttp: BenchCase = {
  name: 'iac/http',
  run: async (world) => {
    const gateway = await startIacGateway(world);
    for (const name of ['journal', 'checkpoint']) await createStack(gateway, name);
    for (let n = 0; n < 1000; n++) await createStack(gateway, `s${n}`);
    const encrypt = await world.drive('encrypt', {
      process: gateway.process,
      url: `${gateway.url}${BASE}/s0/encrypt`,
      method: 'POST',
      headers: operator,
      body: JSON.stringify({ plaintext: 'c2VjcmV0' }),
    });
    const journal = await journalCase(world, gateway);
    const [plain, packed, held] = await checkpointCases(world, gateway);
    const { path, headers } = await replaceLarge(gateway);
    await call(`${gateway.url}${path}/complete`, 'POST', { status: 'succeeded' }, headers);
    const reads = await readCases(world, gateway);
    await gateway.process.stop();
    return [encrypt, journal, plain, packed, held, ...reads].filter((one) => one !== undefined);
  },
};

/** The stack that is exported has 1 MB again. */
const replaceLarge = async (gateway: IacGateway) => {
  const active = (await (await fetch(`${gateway.url}${BASE}/checkpoint`, { headers: operator })).json()) as {
    activeUpdate: string;
  };
  await call(`${gateway.url}${BASE}/checkpoint/update/${active.activeUpdate}/cancel`, 'POST', {});
  const update = await startUpdate(gateway, 'checkpoint', 0);
  await call(
    `${gateway.url}${update.path}/checkpoint`,
    'PATCH',
    JSON.parse(checkpoint(MEBIBYTE)) as object,
    update.headers,
  );
  return update;
};
