import pg from 'pg';
import type { Logger } from '../domain/logger.js';

const RECONNECT_MS = 1_000;

interface ListenOptions {
  readonly databaseUrl: string;
  readonly channels: readonly string[];
  readonly log: Logger;
  /** Called for every notification, and with an empty payload after each (re)connect: something may have been missed. */
  readonly onNotification: (payload: string) => void;
}

export interface Listener {
  readonly stop: () => Promise<void>;
}

/** Listens on a connection of its own, and comes back after every loss of it. */
export const listen = ({ databaseUrl, channels, log, onNotification }: ListenOptions): Listener => {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const retry = (error: unknown): void => {
    client = undefined;
    if (stopped) return;
    log.debug({ err: error, channels }, 'listener lost its connection');
    timer = setTimeout(() => void connect(), RECONNECT_MS);
  };
  const connect = async (): Promise<void> => {
    const next = new pg.Client({ connectionString: databaseUrl, application_name: 'keystead-listener' });
    let lost = false;
    /** A connection that dies may say so more than once. */
    const lose = (error: unknown): void => {
      if (!lost) retry(error);
      lost = true;
    };
    next.on('error', lose);
    next.on('notification', ({ payload }) => onNotification(payload ?? ''));
    try {
      await next.connect();
      for (const channel of channels) await next.query(`listen ${next.escapeIdentifier(channel)}`);
      client = next;
      onNotification('');
    } catch (error) {
      lose(error);
    }
  };
  void connect();
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      client?.removeAllListeners('error').on('error', () => undefined);
      await client?.end().catch(() => undefined);
    },
  };
};
