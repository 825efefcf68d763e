import { randomBytes } from 'node:crypto';
import type { RunningProcess } from './processes.js';
import type { BenchDatabase, BenchWorld } from './world.js';

export const IAC_TOKEN = 'bench-iac-token';
export const IAC_ORG = 'bench';

export interface IacGateway {
  readonly url: string;
  readonly process: RunningProcess;
  readonly database: BenchDatabase;
}

/** The built broker gateway on a database of its own; it logs every request. */
export const startIacGateway = async (world: BenchWorld): Promise<IacGateway> => {
  const database = await world.database('iac');
  const port = await world.port();
  const url = `http://127.0.0.1:${port}`;
  const process = await world.start('api/broker/main.js', {
    env: {
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: '127.0.0.1:9',
      NODE_ENV: 'production',
      SVC_PORT: String(port),
      SVC_IAC_TOKEN: IAC_TOKEN,
      SVC_IAC_ORG: IAC_ORG,
      SVC_SHARED_SECRET_MASTER_KEY: randomBytes(32).toString('hex'),
      LOG_LEVEL: 'info',
    },
    readyUrl: `${url}/healthz`,
  });
  return { url, process, database };
};

/** Milliseconds that the gateway took for requests whose route ends so, from its own log. */
export const loggedTimes = ({ process }: IacGateway, routeEnd: string): readonly number[] =>
  process
    .output()
    .split('\n')
    .filter((line) => line.includes(`${routeEnd}"`))
    .flatMap((line) => {
      const { ms } = JSON.parse(line) as { ms?: number };
      return ms === undefined ? [] : [ms];
    });

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
