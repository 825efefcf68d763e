import { Client, Connection } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import type { Knex } from 'knex';
import type { DatabaseConfig } from '../../../domain/config/database.js';
import type { Env } from '../../../domain/config/env.js';
import { parseSettings } from '../../../domain/config/env.js';
import { temporalSettings } from '../../../domain/config/temporal.js';
import type { TemporalConfig } from '../../../domain/config/temporal.js';
import { connectionOptions } from '../../temporal/client.js';

/** What the root gives the tools: the outside world, and the parts of the database layer that doctor asks. */
export interface SreDeps {
  readonly env: Env;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly readFile: (path: string) => string;
  readonly now: () => number;
  /** The workflow bundle that the workers of this build load. */
  readonly workflowBundle: (name: string) => Promise<NonNullable<WorkerOptions['workflowBundle']>>;
  readonly database: {
    readonly connect: (config: DatabaseConfig) => Knex;
    readonly pendingMigrations: (db: Knex) => Promise<readonly string[]>;
    readonly outboxLag: (db: Knex) => Promise<{ readonly waiting: number; readonly oldestSeconds: number }>;
  };
}

export interface TemporalAccess {
  readonly client: Client;
  readonly connection: Connection;
  readonly config: TemporalConfig;
}

const CONNECT_TIMEOUT_MS = 5_000;

export const temporalConfig = (deps: SreDeps): TemporalConfig =>
  parseSettings(temporalSettings, deps.env, { readFile: deps.readFile });

export const openTemporal = async (config: TemporalConfig): Promise<TemporalAccess> => {
  try {
    const connection = await Connection.connect({
      ...connectionOptions(config),
      connectTimeout: CONNECT_TIMEOUT_MS,
    });
    return { connection, config, client: new Client({ connection, namespace: config.TEMPORAL_NAMESPACE }) };
  } catch (error) {
    throw new Error(
      `Temporal at ${config.TEMPORAL_ADDRESS} does not answer: is it running, and is TEMPORAL_ADDRESS right?`,
      { cause: error },
    );
  }
};

/** Runs `work` over one connection that is closed afterwards. */
export const withTemporal = async <T>(
  deps: SreDeps,
  work: (temporal: TemporalAccess) => Promise<T>,
): Promise<T> => {
  const temporal = await openTemporal(temporalConfig(deps));
  try {
    return await work(temporal);
  } finally {
    await temporal.connection.close();
  }
};
