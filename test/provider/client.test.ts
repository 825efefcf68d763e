import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createClient } from '../../provider/src/client.js';

type Reply = (response: ServerResponse) => void;
const json =
  (status: number, body: object, headers: Record<string, string> = {}): Reply =>
  (response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(JSON.stringify(body));

describe('the REST client of the provider', () => {
  const stops: (() => void)[] = [];
  afterEach(() => stops.splice(0).forEach((stop) => stop()));

  /** A service that gives these replies in order, the last one for ever. */
  const service = async (...replies: readonly Reply[]) => {
    const seen: { authorization: string | undefined; url: string | undefined }[] = [];
    const server = createServer((request, response) => {
      seen.push({ authorization: request.headers.authorization, url: request.url });
      replies[Math.min(seen.length, replies.length) - 1]!(response);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    stops.push(() => server.close());
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const pauses: number[] = [];
    const call = createClient({ wait: (ms) => Promise.resolve(pauses.push(ms)) });
    return {
      seen,
      pauses,
      endpoint,
      ask: (base = endpoint) => call({ endpoint: base, token: 't0k' }, 'read', 'GET', '/api/x'),
    };
  };

  it('tries 429 and 503 again, as long as the service asks, else with doubling pauses', async () => {
    const { ask, pauses, seen } = await service(
      json(429, {}, { 'retry-after': '7' }),
      json(503, {}),
      json(503, {}),
      json(200, { fine: true }),
    );
    expect(await ask()).toEqual({ status: 200, body: { fine: true } });
    expect(pauses).toEqual([7_000, 1_000, 2_000]);
    expect(seen).toHaveLength(4);
  });

  it('gives up in the end and says why, without the token', async () => {
    const { ask, pauses } = await service(json(503, { detail: 'the image factory is away' }));
    await expect(ask()).rejects.toThrow('read: the image factory is away (HTTP 503)');
    expect(pauses).toHaveLength(6);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(30_000);
  });

  it('never repeats a refusal, and quotes its detail', async () => {
    const { ask, seen } = await service(json(409, { detail: 'this machine is revoked' }));
    await expect(ask()).rejects.toThrow('read: this machine is revoked (HTTP 409)');
    expect(seen).toHaveLength(1);
    const issues = await service(
      json(422, { detail: [{ loc: ['body', 'role'], msg: 'no such role', type: 'x' }] }),
    );
    await expect(issues.ask()).rejects.toThrow('read: role: no such role (HTTP 422)');
  });

  it('keeps the path below which the service is mounted', async () => {
    const { ask, seen, endpoint } = await service(json(200, {}));
    await ask(`${endpoint}/keystead/`);
    expect(seen).toEqual([{ authorization: 'Bearer t0k', url: '/keystead/api/x' }]);
  });

  it('never follows a redirect with the token', async () => {
    const elsewhere = await service(json(200, { fine: true }));
    const { ask } = await service(
      (response) => void response.writeHead(302, { location: elsewhere.endpoint }).end(),
    );
    await expect(ask()).rejects.toThrow('cannot be reached');
    expect(elsewhere.seen).toHaveLength(0);
  });

  it('says that nobody listens', async () => {
    const { ask } = await service(json(200, {}));
    await expect(ask('http://127.0.0.1:9')).rejects.toThrow('http://127.0.0.1:9 cannot be reached');
  });
});
