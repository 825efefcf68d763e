import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  bodies,
  everyField,
  expectRefused,
  fineOrRefused,
  newMachine,
  sender,
  setting,
} from '../../support/bad-input.js';
import { softwareEk } from '../../support/ek.js';
import { rawHttp } from '../../support/raw-http.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

/** Refused with a reason or done, never an error of ours; and the audit chain is whole afterwards. */

let world: BrokerWorld;
let port: number;
let send: ReturnType<typeof sender>;
beforeAll(async () => {
  world = await brokerWorld({ settings: { SVC_NONCE_STORE: 'postgres' } });
  port = Number(new URL(world.urls[0]!).port);
  send = sender(world, await newMachine(world));
});
afterAll(async () => {
  expect((await world.admin.get('/api/v1/audit/verify')).body).toMatchObject({ valid: true });
  await world.close();
});

describe('wrong types', () => {
  const values: readonly unknown[] = [
    0,
    -1,
    1.5,
    1e308,
    true,
    false,
    [],
    ['a'],
    [[]],
    {},
    { a: 1 },
    { toString: 'x' },
    null,
  ];
  it.each(everyField)('in $path $field', async ({ path, method, field, base }) => {
    const reused = base();
    for (const value of values) {
      const answer = await send(path, { ...reused, ...setting(field, value) }, method);
      if (value === null) expect(fineOrRefused(answer)).toBeUndefined();
      else expectRefused(answer);
    }
  });

  it.each(bodies)('as the body of $path', async ({ path, method }) => {
    for (const body of ['null', '0', '"x"', '[]', '[{}]', 'true', '{}'])
      expect(fineOrRefused(await send(path, body, method))).toBeUndefined();
    for (const body of ['0', '"x"', '[]', '[{}]', 'true']) expectRefused(await send(path, body, method), 422);
  });

  it('of wipe', async () => {
    for (const wipe of [0, 1, 'true', 'false', '', [], {}, null])
      expectRefused(await send('machines/:id/revoke', { wipe }), 422);
  });
});

describe('bodies that are no JSON, or too much of it', () => {
  const valid = JSON.stringify(softwareEk());
  const unparsable: readonly (readonly [string, string])[] = [
    ['nothing but a brace', '{'],
    ['NaN', '{"a": NaN}'],
    ['a trailing comma', '{"a": 1,}'],
    ['a comment', '{/* x */}'],
    ['single quotes', "{'a': 1}"],
    ['two values', '{} {}'],
    ['a byte order mark in the middle', '{\ufeff}'],
    ['an unescaped control character', '{"a": "\u0001"}'],
    ['100,000 open arrays', '['.repeat(100_000)],
    ['text', 'hello'],
  ];
  it.each(unparsable)('%s', async (_what, body) => {
    expectRefused(await world.node.post('/api/v1/attest', body), 422);
  });

  it.each([
    ['arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['objects', '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000)],
  ])('100,000 levels of %s', async (_what, deep) => {
    for (const { path, method } of bodies)
      expect(fineOrRefused(await send(path, deep, method))).toBeUndefined();
    expect(fineOrRefused(await send('attest', `${valid.slice(0, -1)},"unknown":${deep}}`))).toBeUndefined();
    expectRefused(await send('attest', `${valid.slice(0, -1)},"hw_uuid":${deep}}`), 422);
  });

  it('100,000 keys, and keys that mean something to JavaScript', async () => {
    const keys = Array.from({ length: 50_000 }, (_, n) => `"k${n}":${n}`).join(',');
    expect((await send('self-register', `${valid.slice(0, -1)},${keys}}`)).status).toBe(200);
    for (const key of ['constructor', 'prototype', 'toString', 'then'])
      for (const value of ['{"status":"attested","role":"controlplane"}', '"x"', 'null'])
        expect((await send('self-register', `${valid.slice(0, -1)},"${key}":${value}}`)).body).toMatchObject({
          status: 'pending_approval',
          role: 'worker-app',
        });
    expectRefused(
      await send('self-register', `${valid.slice(0, -1)},"__proto__":{"role":"controlplane"}}`),
      422,
    );
    expect(({} as { role?: unknown }).role).toBeUndefined();
  });

  it('duplicate keys: the last one counts', async () => {
    const ek = softwareEk();
    const body = JSON.stringify(ek);
    const answer = await send(
      'self-register',
      `${body.slice(0, -1)},"desired_role":"generic","desired_role":"linux"}`,
    );
    expect(answer).toMatchObject({ status: 200, body: { role: 'linux' } });
  });

  it.each([1_048_577, 3_000_000])('%i bytes are 413', async (size) => {
    const body = `{"x":"${'a'.repeat(size - 8)}"}`;
    expect(body).toHaveLength(size);
    for (const { path, method } of bodies) expectRefused(await send(path, body, method), 413);
  });

  it('1 MiB exactly is read', async () => {
    const head = `${valid.slice(0, -1)},"x":"`;
    expect((await send('self-register', `${head}${'a'.repeat(1_048_576 - head.length - 2)}"}`)).status).toBe(
      200,
    );
  });

  it('a gzip bomb is stopped at 1 MiB, other encodings are 415', async () => {
    const post = (body: Buffer, encoding: string) =>
      rawHttp(port, [
        `POST /api/v1/attest HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${body.length}\r\n\r\n`,
        body,
      ]);
    const bomb = gzipSync(Buffer.alloc(200_000_000, 0x20));
    expect(bomb.length).toBeLessThan(1_048_576);
    const before = process.memoryUsage().rss;
    expect((await post(bomb, 'gzip')).status).toBe(413);
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000);
    expect((await post(gzipSync(valid), 'gzip')).status).toBe(200);
    expect((await post(Buffer.from('not gzip'), 'gzip')).status).toBe(422);
    expect((await post(gzipSync(valid).subarray(0, 40), 'gzip')).status).toBe(422);
    for (const encoding of ['zstd', 'compress', 'gzip, gzip', 'x'])
      expect((await post(gzipSync(gzipSync(valid)), encoding)).status).toBe(415);
  });

  it('bytes that are no UTF-8, and other charsets', async () => {
    const post = (body: Buffer, type: string) =>
      rawHttp(port, [
        `POST /api/v1/self-register HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`,
        body,
      ]);
    for (const bytes of ['c0af', 'ff', 'eda080', 'f4908080']) {
      const ek = JSON.stringify({ ...softwareEk(), hw_uuid: 'X' }).split('X');
      const body = Buffer.concat([Buffer.from(ek[0]!), Buffer.from(bytes, 'hex'), Buffer.from(ek[1]!)]);
      const { status } = await post(body, 'application/json');
      expect([200, 422]).toContain(status);
    }
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonx',
      '',
    ])
      expect((await post(Buffer.from(valid), type)).status).toBe(415);
  });
});

describe('broken HTTP', () => {
  const head = 'POST /api/v1/attest HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
  it.each<[string, string]>([
    [
      'Content-Length and Transfer-Encoding',
      `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['two lengths', `${head}Content-Length: 4\r\nContent-Length: 5\r\n\r\n{}{}`],
    ['a negative length', `${head}Content-Length: -1\r\n\r\n{}`],
    ['a length that is no number', `${head}Content-Length: 0x10\r\n\r\n{}`],
    ['a folded header', `${head}X-A: 1\r\n  2\r\nContent-Length: 2\r\n\r\n{}`],
    ['a bare line feed', `POST /api/v1/attest HTTP/1.1\nHost: x\n\n`],
    ['NUL in a header', `${head}X-A: a\u0000b\r\n\r\n`],
    ['NUL in the path', `GET /healthz\u0000 HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a space before the colon', `${head}X-A : 1\r\n\r\n`],
    ['64 KB of headers', `${head}X-A: ${'a'.repeat(65_536)}\r\n\r\n`],
    ['an unknown method', `HACK / HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['HTTP/3.0', `GET /healthz HTTP/3.0\r\nHost: x\r\n\r\n`],
    ['a TLS hello', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000'],
    ['a chunk size that is no number', `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
    ['a chunk size that overflows', `${head}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n`],
    ['an unknown transfer coding', `${head}Transfer-Encoding: xchunked\r\n\r\n`],
    ['no host', `GET /healthz HTTP/1.1\r\n\r\n`],
  ])('%s never reaches a route', async (_what, text) => {
    const { status } = await rawHttp(port, [Buffer.from(text, 'latin1')], 1_500);
    expect([400, 431]).toContain(status);
  });

  it.each([
    '/api/v1/machines/%', '/api/v1/machines/%zz', '/api/v1/machines/%c0%af', '/api/v1/config/%00', '/%', '//', '/..', '/api/v1/../../etc/passwd',
    '/api/v1/machines/..%2f..%2fetc', '*', '/api/v1/machines?page=%', '/api/v1/config?mac[]=1', '/api/v1/config?mac=a&mac=b',
    '/api/v1/config?__proto__[x]=1', `/${'a'.repeat(8_000)}`, 'http://elsewhere/api/v1/x',
  ])('path %s is refused', async (path) => {
    const { status, text } = await rawHttp(port, [`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`]);
    expect({ ok: status >= 400 && status < 500, text: text.slice(0, 100) }).toMatchObject({ ok: true });
  }); // prettier-ignore

  it.each(['PUT', 'PATCH', 'DELETE', 'TRACE', 'OPTIONS', 'PROPFIND'])('method %s', async (method) => {
    for (const path of ['/api/v1/attest', '/api/v1/machines', '/healthz', '/api/v1/config/x']) {
      const { status } = await rawHttp(port, [
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      ]);
      expect(status === 200 ? method : status).toBe(status === 200 ? 'OPTIONS' : status);
      expect(status).toBeLessThan(500);
    }
  });

  it('a length of 1 GB is answered before it is read', async () => {
    const { status, written } = await rawHttp(
      port,
      endless(`${head}Content-Length: 1000000000\r\n\r\n`, 'x'.repeat(65_536)),
    );
    expect(status).toBe(413);
    expect(written).toBeLessThan(32 * 1_048_576);
  });

  it('chunks without end are 413', async () => {
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const { status, written } = await rawHttp(
      port,
      endless(`${head}Transfer-Encoding: chunked\r\n\r\n`, chunk),
    );
    expect(status).toBe(413);
    expect(written).toBeLessThan(32 * 1_048_576);
  });
});

function* endless(first: string, then: string): Generator<string> {
  yield first;
  for (;;) yield then;
}
