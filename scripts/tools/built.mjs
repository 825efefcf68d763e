import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { copyAssets, removeOrphans } from './assets.mjs';

const SOURCES = ['domain', 'workflows', 'activities', 'db', 'api', 'workers', 'scripts', 'bench'];
const FILES = ['package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
const POLL_MS = 200;

const newestIn = (path) => {
  const entry = statSync(path, { throwIfNoEntry: false });
  if (entry === undefined) return 0;
  if (!entry.isDirectory()) return entry.mtimeMs;
  return Math.max(
    entry.mtimeMs,
    ...readdirSync(path, { withFileTypes: true })
      .filter(({ name }) => name !== 'node_modules' && name !== 'results')
      .map(({ name }) => newestIn(join(path, name))),
  );
};

const stampOf = (root) => join(root, 'dist', '.built');

/** True when a source is newer than the last build that succeeded. */
export const isStale = (root) => {
  const built = statSync(stampOf(root), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return [...SOURCES, ...FILES].some((name) => newestIn(join(root, name)) > built);
};

const command = (root, args) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk) => (output += chunk);
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`build failed\n${output}`))));
  });

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** One build at a time in a folder; a lock whose process is gone is taken over. */
const withBuildLock = async (root, work) => {
  const lock = join(root, 'dist', '.building');
  mkdirSync(join(root, 'dist'), { recursive: true });
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      let owner = 0;
      try {
        owner = Number(readFileSync(lock, 'utf8'));
      } catch {
        continue;
      }
      if (owner > 0 && !isAlive(owner)) rmSync(lock, { force: true });
      else await delay(POLL_MS);
    }
  }
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
  }
};

/** Every domain that has workflows. */
const bundleNames = (root) =>
  readdirSync(join(root, 'workflows')).filter((name) =>
    existsSync(join(root, 'workflows', name, 'index.ts')),
  );

const bundleScript = (root) =>
  `import { writeBundle } from ${JSON.stringify(pathToFileURL(join(root, 'dist/workers/bundle.js')).href)};
   for (const name of ${JSON.stringify(bundleNames(root))}) await writeBundle(name, ${JSON.stringify(join(root, 'dist/bundles'))}, 'js');`;

/** Compiles into dist/ and bundles the workflows; nothing when dist/ is current, unless forced. */
export const ensureBuilt = async (root, { force = false, log = console.error } = {}) => {
  if (!force && !isStale(root)) return;
  await withBuildLock(root, async () => {
    if (!force && !isStale(root)) return;
    log('building ...');
    const started = Date.now();
    await removeOrphans(root, SOURCES);
    await command(root, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']);
    await copyAssets(root, SOURCES);
    await command(root, ['--input-type=module', '-e', bundleScript(root)]);
    writeFileSync(stampOf(root), '');
    utimesSync(stampOf(root), new Date(started), new Date(started));
    log(`built in ${Math.round((Date.now() - started) / 1000)} s`);
  });
};
