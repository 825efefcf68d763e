import { createHash, generateKeyPairSync } from 'node:crypto';
import type { BenchCase } from '../support/case.js';
import type { BrokerBench } from '../support/broker.js';
import { admin, brokerGateway, json, newNode, post } from '../support/broker.js';
import { benchAk } from '../support/software-tpm.js';

interface Enlisted {
  readonly machineId: string;
  readonly configPath: string;
}

const enlist = async ({ url }: BrokerBench, node: string): Promise<Enlisted> => {
  const { machine_id: machineId } = (await post(`${url}/api/v1/self-register`, node)) as {
    machine_id: string;
  };
  await post(`${url}/api/v1/machines/${machineId}/approve`, JSON.stringify({ role: 'worker-app' }), admin);
  const { config_url } = (await post(`${url}/api/v1/attest`, node)) as { config_url: string };
  return { machineId, configPath: new URL(config_url).pathname };
};

/** So many challenges, quoted ahead: making a quote costs more than judging it. */
const quotes = 6_000;

const attestQuote: BenchCase = {
  name: 'broker/attest-quote',
  run: async (world) => {
    const bench = await brokerGateway(world);
    const node = newNode();
    const { machineId } = await enlist(bench, node);
    const ak = benchAk();
    await ak.store(bench.database, machineId);
    const identity = JSON.parse(node) as Record<string, string>;
    const bodies: string[] = [];
    while (bodies.length < quotes) {
      const response = await fetch(`${bench.url}/api/v1/attest/challenge`);
      const { nonce_id, nonce } = (await response.json()) as { nonce_id: string; nonce: string };
      bodies.push(JSON.stringify({ ...identity, nonce_id, ...ak.quote(Buffer.from(nonce, 'base64')) }));
    }
    const measured = await world.drive('POST attest with nonce and P-384 quote', {
      ...{ process: bench.gateway, database: bench.database, url: `${bench.url}/api/v1/attest` },
      ...{ method: 'POST', headers: json, amount: quotes, seconds: 50 },
      request: (n) => ({ body: bodies[n] ?? '' }),
    });
    await bench.gateway.stop();
    return [measured];
  },
};

const rsaNode = (): string => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const fingerprint = createHash('sha384').update(spki).digest('hex');
  return JSON.stringify({
    ek_fingerprint: fingerprint,
    ek_cert_pem: spki.toString('base64'),
    ek_source: 'pub',
  });
};

const sealedConfig: BenchCase = {
  name: 'broker/config-sealed',
  run: async (world) => {
    const bench = await brokerGateway(world);
    const { configPath } = await enlist(bench, rsaNode());
    const measure = (format: string) =>
      world.drive(`GET config, ${format}, RSA-2048`, {
        ...{ process: bench.gateway, database: bench.database, url: `${bench.url}${configPath}` },
        headers: { accept: `application/vnd.svc.config.encrypted+json;format=${format}` },
      });
    const rows = [await measure('ek-aes256gcm-v1'), await measure('ek-import-aes256gcm-v1')];
    await bench.gateway.stop();
    return rows;
  },
};

const certificates: BenchCase = {
  name: 'broker/certificates',
  run: async (world) => {
    const bench = await brokerGateway(world);
    const node = newNode();
    const { machineId } = await enlist(bench, node);
    const { ek_fingerprint } = JSON.parse(node) as { ek_fingerprint: string };
    const measured = await world.drive('POST request-cert, P-384 key made and certified', {
      ...{ process: bench.gateway, database: bench.database, method: 'POST', headers: json },
      url: `${bench.url}/api/v1/machines/${machineId}/request-cert`,
      body: JSON.stringify({ ek_fingerprint }),
    });
    await bench.gateway.stop();
    return [measured];
  },
};

export const brokerTpmCases: readonly BenchCase[] = [attestQuote, sealedConfig, certificates];
