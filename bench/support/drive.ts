import autocannon from 'autocannon';
import type { RunningProcess } from './processes.js';

export interface DriveOptions {
  readonly url: string;
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** A request of its own for every call; `n` counts from 0. What it leaves out comes from above. */
  readonly request?: (n: number) => {
    readonly path?: string;
    readonly body?: string | Buffer;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Status codes that count as success; default every 2xx. */
  readonly expect?: readonly number[];
  readonly connections?: number;
  readonly seconds?: number;
  /** Stops after so many calls (seconds is then only a limit). */
  readonly amount?: number;
  readonly warmUpSeconds?: number;
}

export interface Latencies {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface DriveResult extends Latencies {
  /** Answers that were not expected, and connections that failed. */
  readonly failures: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly cpuMsPerRequest: number | null;
}

export const summarise = (milliseconds: readonly number[], seconds: number): Latencies => {
  const sorted = Float64Array.from(milliseconds).sort();
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    requests: sorted.length,
    perSecond: sorted.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: sorted.at(-1) ?? 0,
  };
};

let counter = 0;

/** Calls one address from `connections` connections, each waiting for its answer, and measures every call. */
export const drive = async (options: DriveOptions, target?: RunningProcess): Promise<DriveResult> => {
  if ((options.warmUpSeconds ?? 1) > 0 && options.amount === undefined)
    await run({ ...options, seconds: options.warmUpSeconds ?? 1 });
  const cpuBefore = target?.cpuSeconds() ?? 0;
  const { milliseconds, statuses, failures, seconds } = await run(options);
  const cpu = target === undefined ? null : target.cpuSeconds() - cpuBefore;
  return {
    ...summarise(milliseconds, seconds),
    failures,
    statuses,
    cpuMsPerRequest: cpu === null ? null : (cpu * 1000) / Math.max(1, milliseconds.length),
  };
};

interface RawRun {
  readonly milliseconds: number[];
  readonly statuses: Record<string, number>;
  readonly failures: number;
  readonly seconds: number;
}

const run = (options: DriveOptions): Promise<RawRun> =>
  new Promise((resolve, reject) => {
    const milliseconds: number[] = [];
    const statuses: Record<string, number> = {};
    let failures = 0;
    const started = performance.now();
    const instance = autocannon(autocannonOptions(options), (error: unknown) => {
      if (error) reject(new Error('the load driver failed', { cause: error }));
      else resolve({ milliseconds, statuses, failures, seconds: (performance.now() - started) / 1000 });
    });
    instance.on('response', (_client, statusCode, _bytes, responseTime) => {
      milliseconds.push(responseTime);
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1;
      const expected = options.expect?.includes(statusCode) ?? (statusCode >= 200 && statusCode < 300);
      if (!expected) failures += 1;
    });
    instance.on('reqError', () => {
      failures += 1;
    });
  });

const autocannonOptions = (options: DriveOptions): autocannon.Options => {
  const { request } = options;
  const base = {
    url: options.url,
    connections: options.connections ?? 16,
    method: options.method ?? 'GET',
    headers: { ...options.headers },
    ...(options.body === undefined ? {} : { body: options.body }),
    ...(options.amount === undefined ? { duration: options.seconds ?? 5 } : { amount: options.amount }),
  };
  if (request === undefined) return base;
  const setupRequest = (req: autocannon.Request): autocannon.Request => {
    const next = request(counter++);
    return {
      ...req,
      ...(next.path === undefined ? {} : { path: next.path }),
      ...(next.body === undefined ? {} : { body: next.body }),
      headers: { ...(req.headers as Record<string, string>), ...next.headers },
    };
  };
  return { ...base, requests: [{ setupRequest }] };
};
