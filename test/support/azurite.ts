import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAzurite } from '../../scripts/local-cloud/azurite.js';
import { freePort } from '../../scripts/stack/ports.js';

/** Queue storage of the suite's own. */
export const testQueues = async (): Promise<{ connectionString: string; stop: () => Promise<void> }> => {
  const dir = await mkdtemp(join(tmpdir(), 'keystead-azurite-'));
  const azurite = await startAzurite({ dir, port: await freePort(0) });
  return {
    connectionString: azurite.connectionString,
    stop: async () => {
      await azurite.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
};
