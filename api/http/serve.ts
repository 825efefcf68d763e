import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type Koa from 'koa';
import type { Logger } from '../../domain/logger.js';

const DRAIN_MS = 8_000;

export interface RunningServer {
  readonly port: number;
  /** Stops accepting, lets running requests finish, then closes what is left. */
  readonly close: () => Promise<void>;
}

/** Listens with bounds on slow clients: 64 KB of headers would be 431, a request must arrive within 30 s of its start. */
export const serve = async (
  app: Koa<never, never> | Koa,
  options: {
    readonly host: string;
    readonly port: number;
    readonly portSetting: string;
    readonly log: Logger;
  },
): Promise<RunningServer> => {
  const server = createServer(
    {
      headersTimeout: 15_000,
      requestTimeout: 300_000,
      keepAliveTimeout: 65_000,
      connectionsCheckingInterval: 5_000,
    },
    app.callback() as Parameters<typeof createServer>[1] & object,
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(`port ${options.port} is in use: set ${options.portSetting} to a free one`)
          : error,
      );
    });
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  options.log.info({ host: options.host, port }, 'listening');
  return { port, close: () => drain(server) };
};

const drain = (server: ReturnType<typeof createServer>): Promise<void> =>
  new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
