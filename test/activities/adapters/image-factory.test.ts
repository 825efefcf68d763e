import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { createImageFactory } from '../../../activities/adapters/image-factory.js';
import type { ImageFactory, ImageFactoryOptions } from '../../../activities/adapters/image-factory.js';

const ID = 'f'.repeat(64);
const CONFIG_URL = 'https://broker.example/api/v1/config/AbC_-123';
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly type: string | undefined;
  readonly body: string;
}
type Answer = (res: ServerResponse) => unknown;

const factoryAnswering = async (
  answer: Answer,
  options: Partial<ImageFactoryOptions> = {},
): Promise<{ factory: ImageFactory; url: string; seen: Seen[] }> => {
  const seen: Seen[] = [];
  const server = createServer((req: IncomingMessage, res) => {
    let body = '';
    req.on('data', (chunk: Buffer) => (body += chunk.toString()));
    req.on('end', () => {
      seen.push({ method: req.method, url: req.url, type: req.headers['content-type'], body });
      answer(res);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const factory = createImageFactory({ url, extensions: [], talosVersion: 'v1.9.5', ...options });
  open.push(
    () => factory.close(),
    () => (server.closeAllConnections(), server.close()),
  );
  return { factory, url, seen };
};
const json =
  (status: number, body: unknown): Answer =>
  (res) =>
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
const unavailable = { kind: 'unavailable', code: 'factory_unavailable' };

describe('the image factory', () => {
  it('is asked for a schematic and gives the address of its ISO', async () => {
    const { factory, url, seen } = await factoryAnswering(json(201, { id: ID }), {
      extensions: ['siderolabs/gvisor', 'siderolabs/intel-ucode', 'siderolabs/gvisor'],
    });
    expect(await factory.isoUrl(CONFIG_URL)).toBe(`${url}/image/${ID}/v1.9.5/metal-amd64.iso`);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/schematics', type: 'application/yaml' });
    expect(parse(seen[0]!.body) as unknown).toEqual({
      customization: {
        extraKernelArgs: [`talos.config=${CONFIG_URL}`],
        systemExtensions: { officialExtensions: ['siderolabs/gvisor', 'siderolabs/intel-ucode'] },
      },
    });
  });

  it.each<[string, Answer]>([
    ['500', json(500, { id: ID })],
    ['400 with a reason', json(400, { message: 'no' })],
    ['a redirect', (res) => res.writeHead(307, { location: '/elsewhere' }).end()],
    ['no id', json(200, {})],
    ['an id that would leave its path', json(200, { id: `../../${ID}` })],
    ['an id that is no text', json(200, { id: 7 })],
    ['no JSON', (res) => res.end('<html>')],
    ['an empty body', (res) => res.end()],
    ['a body without end', (res) => res.write(`{"id":"${'f'.repeat(200_000)}`)],
    ['a closed connection', (res) => res.destroy()],
    ['silence', () => undefined],
  ])('is unavailable when it answers with %s', async (_what, answer) => {
    const { factory } = await factoryAnswering(answer, { timeoutMs: 500 });
    await expect(factory.isoUrl(CONFIG_URL)).rejects.toMatchObject(unavailable);
  });

  it('is unavailable when nobody listens', async () => {
    const { factory } = await factoryAnswering(() => undefined);
    for (const close of open.splice(0)) await close();
    await expect(factory.isoUrl(CONFIG_URL)).rejects.toMatchObject(unavailable);
  });

  it('may be on a private network when a setting says so, but never at a link-local address', async () => {
    const dialed: string[] = [];
    const network = (address: string): ImageFactoryOptions['network'] => ({
      resolver: () => Promise.resolve([address]),
      dialer: ({ hostname }, callback) => {
        dialed.push(hostname);
        callback(new Error('recorded'), null);
      },
    });
    for (const address of ['10.1.2.3', '169.254.169.254']) {
      const { factory } = await factoryAnswering(() => undefined, {
        url: 'http://factory.internal',
        network: network(address)!,
      });
      await expect(factory.isoUrl(CONFIG_URL)).rejects.toMatchObject(unavailable);
    }
    expect(dialed).toEqual(['10.1.2.3']);
  });
});
