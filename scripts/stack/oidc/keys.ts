import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { JWK } from 'jose';
import { exportJWK, generateKeyPair } from 'jose';

export type SigningAlgorithm = 'RS256' | 'ES256';

/** A private signing key as JWK, with `kid`, `alg` and `use`. */
export type SigningKey = JWK & { readonly kid: string; readonly alg: string };

export const generateSigningKey = async (alg: SigningAlgorithm = 'RS256'): Promise<SigningKey> => {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: randomUUID(), alg, use: 'sig' };
};

/** The keys of `path`, newest first; without a file (or a path) one fresh RS256 key, kept when there is a path. */
export const loadSigningKeys = async (path: string | undefined): Promise<readonly SigningKey[]> => {
  const stored = path === undefined ? undefined : await readKeys(path);
  if (stored !== undefined) return stored;
  const keys = [await generateSigningKey()];
  await storeSigningKeys(path, keys);
  return keys;
};

export const storeSigningKeys = async (
  path: string | undefined,
  keys: readonly SigningKey[],
): Promise<void> => {
  if (path !== undefined) await writeFile(path, JSON.stringify({ keys }, null, 2), { mode: 0o600 });
};

const readKeys = async (path: string): Promise<readonly SigningKey[] | undefined> => {
  try {
    return (JSON.parse(await readFile(path, 'utf8')) as { keys: SigningKey[] }).keys;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
