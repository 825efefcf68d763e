import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Secrets that `npm start` makes once when none are given. */
export interface StackSecrets {
  readonly adminToken: string;
  readonly iacToken: string;
  /** 64 hex digits: AES-256 master key of the vault. */
  readonly masterKey: string;
}

const token = (prefix: string): string => `${prefix}-${randomBytes(24).toString('base64url')}`;

const freshSecrets = (): StackSecrets => ({
  adminToken: token('admin'),
  iacToken: token('iac'),
  masterKey: randomBytes(32).toString('hex'),
});

/** Passable for the user that runs PostgreSQL; the files inside are private. */
export const openDataDir = async (path: string): Promise<string> => {
  const folder = resolve(path);
  await mkdir(folder, { recursive: true, mode: 0o711 });
  return folder;
};

const readJson = async (path: string): Promise<unknown> =>
  existsSync(path) ? (JSON.parse(await readFile(path, 'utf8')) as unknown) : undefined;

const writePrivate = async (path: string, value: unknown): Promise<void> => {
  const scratch = `${path}.${process.pid}`;
  await writeFile(scratch, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(scratch, path);
};

/** The secrets of this data folder; made at the first start, readable by the owner only. */
export const loadSecrets = async (dataDir: string): Promise<StackSecrets> => {
  const path = join(dataDir, 'secrets.json');
  const stored = (await readJson(path)) as Partial<StackSecrets> | undefined;
  const secrets = { ...freshSecrets(), ...stored };
  if (Object.keys(stored ?? {}).length < Object.keys(secrets).length) await writePrivate(path, secrets);
  return secrets;
};

/** Where the running stack is to be found; for `npm run token` and for the next start. */
export interface StackAddresses {
  readonly oidcIssuer?: string | undefined;
  readonly oidcPort: number;
  readonly factoryPort: number;
  readonly cloudPort?: number | undefined;
  readonly queuePort?: number | undefined;
}

const addressesPath = (dataDir: string): string => join(dataDir, 'addresses.json');

export const loadAddresses = async (dataDir: string): Promise<StackAddresses | undefined> =>
  (await readJson(addressesPath(dataDir))) as StackAddresses | undefined;

export const storeAddresses = (dataDir: string, addresses: StackAddresses): Promise<void> =>
  writePrivate(addressesPath(dataDir), addresses);

/** What this start gave the services beside the caller's own variables: `npm run sre` and the like find the stack by it. */
export const storeServiceEnvironment = (
  dataDir: string,
  env: Readonly<Record<string, string>>,
): Promise<void> => writePrivate(join(dataDir, 'environment.json'), env);
