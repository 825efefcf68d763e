import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheRoot, runWithProgress } from './cache.mjs';

const DOWNLOAD_SITE = 'https://temporal.download';
const PROBE_MS = 4_000;
const DOWNLOAD_MS = 300_000;

/** Whether the site answers at all: a network that refuses or swallows packets is told in seconds, not minutes. */
const siteAnswers = async () => {
  try {
    await fetch(DOWNLOAD_SITE, { method: 'HEAD', signal: AbortSignal.timeout(PROBE_MS) });
    return true;
  } catch {
    return false;
  }
};

const servers = {
  devServer: {
    label: 'downloading the Temporal server',
    prefix: 'temporal-cli-',
    start: `createLocal({ server: { executable, log: { format: 'pretty', level: 'error' } } })`,
  },
  testServer: {
    label: 'downloading the time-skipping Temporal test server',
    prefix: 'temporal-test-server-',
    start: `createTimeSkipping({ server: { executable } })`,
  },
};

const folder = () => join(cacheRoot(), 'temporal-sdk');

/** What the SDK has downloaded before, or undefined. */
export const downloadedBySdk = async (kind) => {
  const names = await readdir(folder()).catch(() => []);
  const name = names.find((file) => file.startsWith(servers[kind].prefix) && !file.endsWith('.downloading'));
  return name === undefined ? undefined : join(folder(), name);
};

const script = (kind) => `
  import { TestWorkflowEnvironment } from '@temporalio/testing';
  const executable = { type: 'cached-download', downloadDir: ${JSON.stringify(folder())}, ttl: '3650 days' };
  const env = await TestWorkflowEnvironment.${servers[kind].start};
  await env.teardown();`;

/**
 * Lets the Temporal SDK download its server into the cache folder.
 * @param {'devServer' | 'testServer'} kind
 * @param {string} root the package folder, with node_modules
 * @returns {Promise<string | undefined>} undefined when the network does not allow it
 */
export const downloadBySdk = async (kind, root) => {
  if (!existsSync(join(root, 'node_modules/@temporalio/testing')) || !(await siteAnswers())) return undefined;
  await mkdir(folder(), { recursive: true });
  const args = ['--input-type=module', '-e', script(kind)];
  try {
    await runWithProgress(servers[kind].label, process.execPath, args, { cwd: root, timeoutMs: DOWNLOAD_MS });
  } catch {
    return undefined;
  }
  const path = await downloadedBySdk(kind);
  if (path !== undefined) await chmod(path, 0o755);
  return path;
};
