import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from '@jest/globals';
import { buildConnector } from 'undici';
import { createOutbound } from '../../../activities/adapters/http.js';
import type { Outbound, OutboundOptions } from '../../../activities/adapters/http.js';

const PUBLIC = '93.184.216.34';
const open: { close: () => unknown }[] = [];
afterEach(async () => {
  for (const item of open.splice(0)) await item.close();
});

const listen = async (server: Server): Promise<number> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  open.push({ close: () => (sockets.forEach((s) => s.destroy()), server.close()) });
  return (server.address() as AddressInfo).port;
};
const sink = (handler: RequestListener): Promise<number> => listen(createServer(handler));
const rawSink = (answer: string): Promise<number> =>
  listen(
    createTcpServer((socket) => socket.on('error', () => undefined).once('data', () => socket.write(answer))),
  );

/** Names resolve to `answers` in turn; sockets go to the local sink, and the address asked for is recorded. */
const outboundTo = (
  port: number,
  answers: readonly string[][] = [[PUBLIC]],
  policy: OutboundOptions['policy'] = { allowHttp: true },
) => {
  const dialed: string[] = [];
  const asked: string[] = [];
  const tcp = buildConnector({});
  const outbound = createOutbound({
    policy,
    resolver: (name) => {
      asked.push(name);
      return Promise.resolve(answers[Math.min(asked.length, answers.length) - 1] ?? []);
    },
    dialer: (options, callback) => {
      dialed.push(options.hostname);
      tcp({ ...options, protocol: 'http:', hostname: '127.0.0.1', port: String(port) }, callback);
    },
  });
  open.push(outbound);
  return { outbound, dialed, asked };
};

const refusal = { kind: 'invalid', code: 'address_refused' };
const expectRefused = async (outbound: Outbound, url: string): Promise<void> => {
  await expect(outbound.check(url)).rejects.toMatchObject(refusal);
  await expect(outbound.request(url)).rejects.toMatchObject(refusal);
};

describe('addresses that are refused when judged and when called, before any packet', () => {
  const literals = [
    '127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0', '0.0.0.0', '[::1]', '[::]',
    '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]',
    '[fe80::1]', '[fe80::1%lo]', '[fc00::1]', '[fd00:ec2::254]', '169.254.169.254', '169.254.170.2',
    '100.100.100.200', '168.63.129.16', '10.0.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '192.0.0.1',
    '198.18.0.1', '192.0.2.1', '198.51.100.1', '203.0.113.1', '224.0.0.1', '240.0.0.1', '255.255.255.255',
    '[ff02::1]', '[2001:db8::1]', '①②⑦.⓪.⓪.①', '１２７.0.0.1',
  ]; // prettier-ignore
  const names = [
    'localhost', 'localhost.', 'LOCALHOST', 'x.localhost', 'printer.local', 'metadata.google.internal', 'intranet', 'db.',
  ]; // prettier-ignore
  const tricks = [
    'https://user:pass@example.com/', 'https://public@127.0.0.1/', 'https://@example.com/', 'https:\\\\example.com',
    'https://example.com\\@127.0.0.1/', 'https://exa\tmple.com/', 'https://exam\nple.com/', 'https:///example.com/',
    'https:example.com', '//example.com/', ' https://example.com/', 'https://example.com:22/', 'https://example.com:25/',
    'https://example.com:5432/', 'https://example.com:6379/', 'https://example.com:7233/', 'file:///etc/passwd',
    'gopher://example.com/', 'ftp://example.com/', 'data:text/plain,x', 'unix:/run/x.sock', 'http+unix://%2Frun%2Fx.sock/',
    `https://example.com/${'a'.repeat(2048)}`, 'https://', 'https://[::1', '',
  ]; // prettier-ignore

  it.each(
    [...literals, ...names].flatMap((host) => [`https://${host}/`, `http://${host}:8080/`]).concat(tricks),
  )('%s', async (url) => {
    const { outbound, dialed, asked } = outboundTo(1);
    await expectRefused(outbound, url);
    expect({ dialed, asked }).toEqual({ dialed: [], asked: [] });
  });

  it.each([
    ['private', [['10.0.0.7']]],
    ['public and private together', [[PUBLIC, '127.0.0.1']]],
    ['AAAA only, private', [['fd00::7']]],
    ['IPv4-mapped', [['::ffff:10.0.0.7']]],
    ['scoped link-local', [['fe80::1%lo']]],
  ])('a name whose addresses are %s', async (_what, answers) => {
    const { outbound, dialed } = outboundTo(1, answers);
    await expectRefused(outbound, 'http://hook.example.com/');
    expect(dialed).toEqual([]);
  });

  it('a name that was public when it was checked and private when it is called', async () => {
    const { outbound, dialed } = outboundTo(1, [[PUBLIC], ['127.0.0.1']]);
    await outbound.check('http://hook.example.com/');
    await expect(outbound.request('http://hook.example.com/')).rejects.toMatchObject(refusal);
    expect(dialed).toEqual([]);
  });

  it('http, unless it is switched on', async () => {
    const { outbound } = outboundTo(1, [[PUBLIC]], {});
    await expectRefused(outbound, 'http://hook.example.com/');
    await outbound.check('https://hook.example.com/');
  });
});

describe('addresses that are open', () => {
  it('connects to the judged address after one resolution, and keeps the Host header', async () => {
    let host: string | undefined;
    const port = await sink((req, res) => ((host = req.headers.host), res.end('fine')));
    const { outbound, dialed, asked } = outboundTo(port, [[PUBLIC], ['127.0.0.1']]);
    const answer = await outbound.request('http://hook.example.com/path');
    expect(answer).toMatchObject({ status: 200, truncated: false });
    expect(answer.body.toString()).toBe('fine');
    expect({ dialed, asked, host }).toEqual({
      dialed: [PUBLIC],
      asked: ['hook.example.com'],
      host: 'hook.example.com',
    });
  });

  it('private ranges and names of the allow list, and only those', async () => {
    const port = await sink((_req, res) => res.end());
    const outbound = createOutbound({
      policy: { allowHttp: true, allowedCidrs: ['127.0.0.0/8', '::1/128'] },
    });
    open.push(outbound);
    expect((await outbound.request(`http://127.0.0.1:${port}/`)).status).toBe(200);
    expect((await outbound.request(`http://localhost:${port}/`)).status).toBe(200);
    await expectRefused(outbound, 'http://10.0.0.1/');
    await expectRefused(outbound, 'http://[::ffff:10.0.0.1]/');
    const { outbound: narrow, dialed } = outboundTo(1, [[PUBLIC]], {
      allowHttp: true,
      allowedCidrs: ['10.0.0.0/8'],
    });
    await expectRefused(narrow, 'http://printer.local/');
    expect(dialed).toEqual([]);
  });

  it('an origin that a setting names, but never its link-local addresses', async () => {
    const port = await sink((_req, res) => res.end());
    const policy = { trustedOrigins: ['http://factory:8080/path'] };
    const { outbound, dialed } = outboundTo(port, [['10.9.8.7']], policy);
    expect((await outbound.request('http://factory:8080/schematics')).status).toBe(200);
    expect(dialed).toEqual(['10.9.8.7']);
    await expectRefused(outbound, 'http://factory:8081/');
    await expectRefused(outboundTo(1, [['169.254.169.254']], policy).outbound, 'http://factory:8080/');
  });
});

describe('hostile answers', () => {
  it.each([301, 302, 307, 308])('a %i is an answer, not an order', async (status) => {
    let calls = 0;
    const port = await sink(
      (_req, res) => (calls++, res.writeHead(status, { location: 'http://127.0.0.1/' }).end()),
    );
    const { outbound, dialed } = outboundTo(port);
    expect((await outbound.request('http://hook.example.com/')).status).toBe(status);
    expect({ calls, dialed }).toEqual({ calls: 1, dialed: [PUBLIC] });
  });

  it('cuts a body that never ends, and closes the connection', async () => {
    let written = 0;
    let closed = false;
    const port = await sink((_req, res) => {
      const chunk = Buffer.alloc(16_384, 'x');
      const more = (): void => {
        res.write(chunk);
        written += chunk.length;
        if (!closed) setImmediate(more);
      };
      res.on('close', () => (closed = true));
      more();
    });
    const answer = await outboundTo(port).outbound.request('http://hook.example.com/', { maxBytes: 65_536 });
    expect(answer).toMatchObject({ truncated: true });
    expect(answer.body).toHaveLength(65_536);
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it('gives back a gzip bomb as the bytes it is', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const port = await sink((_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb));
    const answer = await outboundTo(port).outbound.request('http://hook.example.com/', { maxBytes: 65_536 });
    expect(answer.body.equals(bomb)).toBe(true);
  });

  it('limits the whole time, not the idle time', async () => {
    const port = await sink((_req, res) => {
      const timer = setInterval(() => res.write('x'), 20);
      res.on('close', () => clearInterval(timer));
    });
    const { outbound } = outboundTo(port);
    await expect(outbound.request('http://hook.example.com/', { timeoutMs: 200 })).rejects.toMatchObject({
      code: 'timeout',
    });
    const silent = outboundTo(await rawSink(''));
    await expect(
      silent.outbound.request('http://hook.example.com/', { timeoutMs: 200 }),
    ).rejects.toMatchObject({ code: 'timeout' });
  });

  it.each([
    ['headers without end', `HTTP/1.1 200 OK\r\n${`x: ${'y'.repeat(65_000)}\r\n`.repeat(4)}\r\n`],
    ['HTTP/0.9', '<html>hello'],
    [
      'an upgrade nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    ],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx'],
  ])('refuses %s', async (_what, bytes) => {
    const { outbound } = outboundTo(await rawSink(bytes));
    await expect(outbound.request('http://hook.example.com/', { timeoutMs: 2_000 })).rejects.toMatchObject({
      kind: 'unavailable',
      code: 'network',
    });
  });

  it('tells a name that does not resolve from one that answers late', async () => {
    const gone = createOutbound({ policy: {}, resolver: () => Promise.reject(new Error('ENOTFOUND')) });
    const never = createOutbound({ policy: {}, resolver: () => new Promise(() => undefined) });
    open.push(gone, never);
    await expect(gone.check('https://hook.example.com/')).rejects.toMatchObject({ code: 'dns' });
    await expect(never.request('https://hook.example.com/', { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'timeout',
    });
  });
});
