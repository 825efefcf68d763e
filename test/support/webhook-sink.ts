import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SunkRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface SinkAnswer {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export interface WebhookSink {
  readonly url: string;
  readonly requests: SunkRequest[];
  /** Resolves when so many requests have arrived in all. */
  readonly arrived: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A receiver on loopback that keeps what it gets. `answer` decides by the request and its place in the order of arrival. */
export const startWebhookSink = async (
  answer: (request: SunkRequest, index: number) => SinkAnswer | Promise<SinkAnswer> = () => ({ status: 200 }),
): Promise<WebhookSink> => {
  const requests: SunkRequest[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const index = requests.push({ path: req.url ?? '', headers: req.headers, body }) - 1;
      for (const check of waiting) check();
      void Promise.resolve(answer(requests[index]!, index)).then((reply) => {
        res.writeHead(reply.status, reply.headers).end(reply.body ?? '');
      });
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    requests,
    arrived: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (requests.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
};

/** Opens http and loopback, as `npm start` does, so that sinks on this machine can be reached. */
export const loopbackPolicy = { allowHttp: true, allowedCidrs: ['127.0.0.0/8', '::1/128'] } as const;
