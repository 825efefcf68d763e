import { readFileSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import type { TLSConfig } from '@temporalio/client';
import type { TemporalConfig } from '../../domain/config/temporal.js';

/** Where the server is and how to show who we are. */
interface TemporalAddress {
  readonly address: string;
  readonly apiKey?: string;
  readonly tls?: TLSConfig;
}

/** Address, TLS and credentials in the form that both the client and the worker take. */
export const connectionOptions = (config: TemporalConfig): TemporalAddress => {
  const { TEMPORAL_TLS_CERT_PATH: cert, TEMPORAL_TLS_KEY_PATH: key, TEMPORAL_TLS_CA_PATH: ca } = config;
  const useTls = config.TEMPORAL_TLS || cert !== undefined || config.TEMPORAL_API_KEY !== undefined;
  return {
    address: config.TEMPORAL_ADDRESS,
    ...(config.TEMPORAL_API_KEY === undefined ? {} : { apiKey: config.TEMPORAL_API_KEY }),
    ...(useTls
      ? {
          tls: {
            ...(ca === undefined ? {} : { serverRootCACertificate: readFileSync(ca) }),
            ...(config.TEMPORAL_TLS_SERVER_NAME === undefined
              ? {}
              : { serverNameOverride: config.TEMPORAL_TLS_SERVER_NAME }),
            ...(cert === undefined || key === undefined
              ? {}
              : { clientCertPair: { crt: readFileSync(cert), key: readFileSync(key) } }),
          },
        }
      : {}),
  };
};

export interface TemporalHandle {
  readonly client: Client;
  readonly connection: Connection;
  readonly close: () => Promise<void>;
}

/** A client that connects on first use, so that a gateway starts (and serves what it can) while Temporal is away. */
export const connectTemporal = (config: TemporalConfig): TemporalHandle => {
  const connection = Connection.lazy(connectionOptions(config));
  return {
    connection,
    client: new Client({ connection, namespace: config.TEMPORAL_NAMESPACE }),
    close: () => connection.close(),
  };
};
