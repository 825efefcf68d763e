import { Pool } from 'undici';

export interface Answer {
  readonly status: number;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

/** Many calls at once over a bounded number of sockets, spread over several gateways. */
export interface Crowd {
  /** `index` chooses the gateway. */
  readonly post: (
    index: number,
    path: string,
    body: object,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

export const crowdOf = (urls: readonly string[], socketsEach = 25): Crowd => {
  const pools = urls.map((url) => new Pool(url, { connections: socketsEach, pipelining: 1 }));
  return {
    post: async (index, path, body, headers = {}) => {
      const answer = await pools[index % pools.length]!.request({
        method: 'POST',
        path,
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      });
      return { status: answer.statusCode, body: await answer.body.json() };
    },
    close: async () => {
      await Promise.all(pools.map((pool) => pool.close()));
    },
  };
};

/** How often each status occurred, e.g. `{ '200': 1, '409': 999 }`. */
export const tally = (answers: readonly { readonly status: number }[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
};
