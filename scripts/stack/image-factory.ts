import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { canonicalSchematic } from './schematic.js';

export interface ImageFactoryOptions {
  /** TCP port on 127.0.0.1; 0 (default) takes a free one. */
  readonly port?: number;
  /** Folder that keeps the schematics over a restart; in memory when absent. */
  readonly folder?: string;
}

export interface ImageFactory {
  readonly url: string;
  /** Canonical YAML by schematic id, of this run. */
  readonly schematics: ReadonlyMap<string, string>;
  /** Makes every call answer with this status; undefined = works again. For tests of an unwell factory. */
  readonly failWith: (status: number | undefined) => void;
  readonly stop: () => Promise<void>;
}

const MAX_BODY_BYTES = 1 << 20;
const IMAGE = /^\/image\/([0-9a-f]{64})\/v\d+\.\d+\.\d+[^/]*\/metal-(?:amd64|arm64)\.iso$/;
const SCHEMATIC = /^\/schematics\/([0-9a-f]{64})$/;

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
}

const text = (status: number, body: string): Reply => ({ status, type: 'text/plain; charset=utf-8', body });

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('request body too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** ISO 9660 starts with 32 KiB of system area, then a volume descriptor "CD001"; the rest of a bootable image is left out. */
const isoOf = (schematic: string): Buffer => {
  const image = Buffer.alloc(34 * 1024);
  image.write('\u0001CD001\u0001', 32 * 1024, 'latin1');
  return Buffer.concat([image, Buffer.from(schematic)]);
};

class SchematicStore {
  readonly known = new Map<string, string>();
  readonly #folder: string | undefined;
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  async put(canonical: string): Promise<string> {
    const id = createHash('sha256').update(canonical).digest('hex');
    this.known.set(id, canonical);
    if (this.#folder !== undefined) {
      await mkdir(this.#folder, { recursive: true });
      await writeFile(join(this.#folder, `${id}.yaml`), canonical, { mode: 0o600 });
    }
    return id;
  }

  async get(id: string): Promise<string | undefined> {
    const known = this.known.get(id);
    if (known !== undefined || this.#folder === undefined) return known;
    return readFile(join(this.#folder, `${id}.yaml`), 'utf8').catch(() => undefined);
  }
}

const create = async (store: SchematicStore, request: IncomingMessage): Promise<Reply> => {
  try {
    const id = await store.put(canonicalSchematic(await readBody(request)));
    return { status: 201, type: 'application/json', body: JSON.stringify({ id }) };
  } catch (error) {
    return text(400, `${error instanceof Error ? error.message : String(error)}\n`);
  }
};

const read = async (store: SchematicStore, path: string): Promise<Reply> => {
  const image = IMAGE.exec(path);
  const id = image?.[1] ?? SCHEMATIC.exec(path)?.[1];
  if (id === undefined) return text(404, 'not found\n');
  const schematic = await store.get(id);
  if (schematic === undefined) return text(404, 'schematic not found\n');
  return image === null
    ? { status: 200, type: 'application/yaml', body: schematic }
    : { status: 200, type: 'application/x-iso9660-image', body: isoOf(schematic) };
};

const route = (store: SchematicStore, request: IncomingMessage): Promise<Reply> | Reply => {
  const path = new URL(request.url ?? '/', 'http://factory').pathname;
  if (request.method === 'POST' && path === '/schematics') return create(store, request);
  if (request.method === 'GET' || request.method === 'HEAD') return read(store, path);
  return text(405, 'method not allowed\n');
};

const send = (request: IncomingMessage, response: ServerResponse, { status, type, body }: Reply): void => {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(request.method === 'HEAD' ? undefined : body);
};

/**
 * The node image factory's protocol on loopback: a schematic is named by the SHA-256 of its canonical form, and images
 * are made of a known schematic only. For `npm start` and tests; its images do not boot.
 */
export const startImageFactory = async (options: ImageFactoryOptions = {}): Promise<ImageFactory> => {
  const store = new SchematicStore(options.folder);
  let failure: number | undefined;
  const server = createServer((request, response) => {
    void (async () => {
      const reply =
        failure === undefined ? await route(store, request) : text(failure, 'the factory is unwell\n');
      send(request, response, reply);
    })().catch(() => response.destroy());
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    schematics: store.known,
    failWith: (status) => {
      failure = status;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
