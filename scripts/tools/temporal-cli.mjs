import { join } from 'node:path';
import { cacheRoot, installOnce, runWithProgress } from './cache.mjs';
import { packageRoot } from './paths.mjs';
import { findProgram, isExecutableFile } from './programs.mjs';
import { downloadBySdk, downloadedBySdk } from './sdk-download.mjs';

export const TEMPORAL_CLI_VERSION = '1.5.1';

const cacheName = `temporal-${TEMPORAL_CLI_VERSION}`;

const buildWithGo = (scratch) =>
  runWithProgress(
    'building the Temporal server from source with Go (once, about 3 minutes on two cores)',
    'go',
    ['install', `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_CLI_VERSION}`],
    { env: { GOBIN: scratch } },
  );

const present = async () => {
  const built = join(cacheRoot(), cacheName, 'temporal');
  return (
    findProgram('temporal') ?? (isExecutableFile(built) ? built : undefined) ?? downloadedBySdk('devServer')
  );
};

const NONE_FOUND = `No Temporal server to run. Any one of these three ways will do:
  1. set TEMPORAL_ADDRESS (host:port) to a Temporal server that is running already
  2. put the Temporal CLI ("temporal", version ${TEMPORAL_CLI_VERSION} or later) on PATH
  3. install Go 1.24 or later, and the CLI is built from source once (about 3 minutes)`;

/**
 * Path of a Temporal CLI: on PATH, in the cache, downloaded by the SDK, or built with Go (once a user).
 * Throws an Error naming the three ways to get one. Safe to call from several processes at once.
 * @returns {Promise<string>}
 */
export const ensureTemporalCli = async (root = packageRoot()) => {
  const found = (await present()) ?? (await downloadBySdk('devServer', root));
  if (found !== undefined) return found;
  if (findProgram('go') === undefined) throw new Error(NONE_FOUND);
  return join(await installOnce({ name: cacheName, files: ['temporal'], build: buildWithGo }), 'temporal');
};
