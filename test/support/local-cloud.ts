import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request, Agent } from 'undici';
import { readFileSync } from 'node:fs';
import { startLocalCloud } from '../../scripts/local-cloud/server.js';
import type { LocalCloud, LocalCloudOptions } from '../../scripts/local-cloud/server.js';
import { silentLog } from './log.js';

export interface TestCloud extends LocalCloud {
  /** Calls the control API. */
  readonly control: (path: string, body: object) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** A cloud of the suite's own, in a temporary folder. */
export const testCloud = async (options: Partial<LocalCloudOptions> = {}): Promise<TestCloud> => {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'keystead-cloud-')));
  const cloud = await startLocalCloud({ log: silentLog, retryScale: 0.002, ...options, dir });
  const agent = new Agent({ connect: { ca: readFileSync(cloud.caFile, 'utf8') } });
  return {
    ...cloud,
    control: async (path, body) => {
      const answer = await request(`${cloud.origin}/control/${path}`, {
        method: 'POST',
        dispatcher: agent,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await answer.body.text();
      if (answer.statusCode >= 300) throw new Error(`control ${path}: ${answer.statusCode} ${text}`);
    },
    stop: async () => {
      await agent.close();
      await cloud.close();
      if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
    },
  };
};
