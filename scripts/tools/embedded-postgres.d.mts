import type { ChildProcess } from 'node:child_process';

export interface EmbeddedPostgresOptions {
  /** Made when new. Below a private folder that the postgres user cannot pass, /var/lib/keystead is used instead. */
  readonly dataDir: string;
  readonly port: number;
  readonly user?: string;
  readonly password?: string;
  /** Server settings, e.g. `max_connections`. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** In a process group of its own: a Ctrl-C in the terminal does not reach it. */
  readonly ownGroup?: boolean;
}

export interface EmbeddedPostgresServer {
  /** Of the database `postgres`. */
  readonly url: string;
  readonly dataDir: string;
  readonly process: ChildProcess;
  readonly stop: () => Promise<void>;
}

/** The PostgreSQL server that npm installed, on 127.0.0.1 only. */
export declare const startEmbeddedPostgres: (
  options: EmbeddedPostgresOptions,
) => Promise<EmbeddedPostgresServer>;

/** Where the data folder really lies. */
export declare const reachableDataDir: (wanted: string) => string;
