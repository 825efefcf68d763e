import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runWithProgress } from './cache.mjs';

const OLDEST_NODE = [20, 19];

/** Throws an Error when this Node.js is older than package.json allows. */
export const requireNodeVersion = (version = process.versions.node) => {
  const [major, minor] = version.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  throw new Error(`Node.js ${OLDEST_NODE.join('.')} or later is needed; this is ${version}`);
};

const packagesOf = (path) => JSON.parse(readFileSync(path, 'utf8')).packages;

/** npm leaves a list of what it installed; every package of the lock file must be in it with the same content. */
const isCurrent = (root) => {
  const installedList = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(installedList)) return false;
  const installed = packagesOf(installedList);
  return Object.entries(packagesOf(join(root, 'package-lock.json')))
    .filter(([path, entry]) => path.startsWith('node_modules/') && !entry.optional && !entry.link)
    .every(
      ([path, entry]) =>
        installed[path]?.version === entry.version && installed[path]?.integrity === entry.integrity,
    );
};

/** Runs `npm ci` when node_modules is missing or does not match package-lock.json. */
export const ensureNodeModules = async (root) => {
  if (isCurrent(root)) return;
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  await runWithProgress('installing the npm packages (npm ci)', 'npm', args, { cwd: root });
};
