import { spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** Tools that take minutes to build are kept for the user, shared by all clones of the project. */
export const cacheRoot = (env = process.env) =>
  join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'keystead');

const exists = (path) =>
  access(path).then(
    () => true,
    () => false,
  );

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** A lock whose process is gone, or which never got its owner's number within a minute, is taken over. */
const isAbandoned = async (lock) => {
  const pid = Number(await readFile(join(lock, 'pid'), 'utf8').catch(() => '0'));
  if (pid > 0) return !isAlive(pid);
  const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Date.now() }));
  return Date.now() - mtimeMs > 60_000;
};

const takeLock = async (lock, log) => {
  for (let told = false; ; told = true) {
    try {
      await mkdir(lock);
      await writeFile(join(lock, 'pid'), String(process.pid));
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (await isAbandoned(lock)) {
      await rm(lock, { recursive: true, force: true });
      continue;
    }
    if (!told) log(`another process is installing this (${lock}); waiting`);
    await delay(1000);
  }
};

/**
 * Makes `files` in `<cache>/<name>/` by calling `build(scratchFolder)`, which leaves them in that folder.
 * Built once: processes that ask at the same time wait for the first, and a crash leaves nothing half-made.
 * @returns the folder
 */
export const installOnce = async ({ name, files, build, log = console.error }) => {
  const folder = join(cacheRoot(), name);
  const isReady = async () =>
    (await Promise.all(files.map((file) => exists(join(folder, file))))).every(Boolean);
  if (await isReady()) return folder;
  await mkdir(cacheRoot(), { recursive: true });
  const lock = `${folder}.lock`;
  await takeLock(lock, log);
  const scratch = await mkdtemp(`${folder}.building-`);
  try {
    if (await isReady()) return folder;
    await build(scratch);
    await mkdir(folder, { recursive: true });
    for (const file of files) await rename(join(scratch, file), join(folder, file));
    return folder;
  } finally {
    await rm(scratch, { recursive: true, force: true });
    await rm(join(lock, 'pid'), { force: true });
    await rmdir(lock).catch(() => undefined);
  }
};

const PROGRESS_EVERY_MS = 15_000;

/** Runs a long command and says every 15 s that it is still at work; its output is shown only when it fails. */
export const runWithProgress = (
  label,
  command,
  args,
  { cwd, env = {}, timeoutMs, log = console.error } = {},
) =>
  new Promise((resolve, reject) => {
    const started = Date.now();
    const seconds = () => `${Math.round((Date.now() - started) / 1000)} s`;
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      timeout: timeoutMs,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk) => (output = (output + chunk).slice(-8000));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    log(`${label} ...`);
    const ticker = setInterval(() => log(`${label} ... ${seconds()}`), PROGRESS_EVERY_MS);
    child.on('error', (error) => {
      clearInterval(ticker);
      reject(error);
    });
    child.on('close', (code) => {
      clearInterval(ticker);
      if (code === 0) {
        log(`${label}: done in ${seconds()}`);
        resolve(undefined);
      } else
        reject(new Error(`${label} failed (${command} ${args.join(' ')}, exit code ${code}):\n${output}`));
    });
  });
