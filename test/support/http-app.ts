import { request } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { Middleware } from 'koa';
import { createApp } from '../../api/http/app.js';
import { serve } from '../../api/http/serve.js';
import type { RequestState } from '../../api/http/state.js';
import { recordingLog } from './log.js';

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}
export interface HttpApp {
  readonly log: ReturnType<typeof recordingLog>;
  readonly port: number;
  readonly get: (path?: string, headers?: Record<string, string | string[]>) => Promise<HttpAnswer>;
  readonly close: () => Promise<void>;
}

/** A real HTTP server of the gateways' own kind around some middleware. */
export const httpApp = async (
  middleware: readonly Middleware<RequestState>[],
  trustedProxies: readonly string[] = ['127.0.0.0/8', '::1/128'],
): Promise<HttpApp> => {
  const log = recordingLog();
  const server = await serve(createApp({ log, trustedProxies, middleware }), {
    host: '127.0.0.1',
    port: 0,
    portSetting: 'none',
    log,
  });
  return {
    log,
    port: server.port,
    close: () => server.close(),
    get: (path = '/', headers = {}) => get(server.port, path, headers),
  };
};

/** node:http sends headers as they are given; fetch would repair or refuse some. */
const get = (port: number, path: string, headers: Record<string, string | string[]>): Promise<HttpAnswer> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const isJson = response.headers['content-type']?.includes('json') === true;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: isJson ? JSON.parse(text) : text,
        });
      });
    });
    sent.on('error', reject);
    sent.end();
  });
