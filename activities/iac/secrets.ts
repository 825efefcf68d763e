import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { StackKey } from '../../db/iac/keys.js';
import { findStackKeys, insertStackKey } from '../../db/iac/keys.js';
import { AppError } from '../../domain/errors.js';
import { frame, unframe, wrapForWire } from '../../domain/iac/ciphertext.js';
import type { SealedValue } from '../../domain/iac/ciphertext.js';
import type { StackName } from '../../domain/iac/names.js';
import { showStackName } from '../../domain/iac/names.js';
import { keyBytes, open, seal } from '../crypto/aead.js';
import type { KeyRing, KeyScope } from '../crypto/key-ring.js';
import type { IacDeps } from './deps.js';

const UNSEALED_KEYS = 1000;

/** Stack keys are sealed at rest, each bound to its stack and version. */
const scopeOf = (stackId: string): KeyScope => ({ purpose: 'svc/iac-stack-key/v1', context: [stackId] });
const placeOf = (stackId: string, version: number): string => `${stackId}:${version}`;

const sealKey = (ring: KeyRing, stackId: string, version: number, key: Buffer): StackKey => {
  const { keyId, ...sealed } = ring.seal(scopeOf(stackId), placeOf(stackId, version), key);
  return { stackId, version, masterKeyId: keyId, ...sealed };
};

const unsealKey = (ring: KeyRing, stored: StackKey): Buffer => {
  try {
    return ring.open(scopeOf(stored.stackId), placeOf(stored.stackId, stored.version), {
      ...stored,
      keyId: stored.masterKeyId,
    });
  } catch (cause) {
    throw new AppError(
      'malformed',
      `the secrets key of this stack cannot be opened: the service key '${stored.masterKeyId}' is not configured here`,
      { cause, code: 'unreadable' },
    );
  }
};

/** The secrets provider: values go in and come out; the stack's AES-256-GCM key never leaves. */
export const createSecretCommands = ({ db, keyRing }: Pick<IacDeps, 'db' | 'keyRing'>) => {
  const unsealed = new LRUCache<string, Buffer>({ max: UNSEALED_KEYS });
  const unsealOnce = (stored: StackKey): Buffer => {
    const id = `${placeOf(stored.stackId, stored.version)}:${stored.nonce.toString('base64')}`;
    const known = unsealed.get(id);
    if (known !== undefined) return known;
    const key = unsealKey(keyRing, stored);
    unsealed.set(id, key);
    return key;
  };

  const keysOf = async (name: StackName): Promise<NonNullable<Awaited<ReturnType<typeof findStackKeys>>>> => {
    const found = await findStackKeys(db, name);
    if (found === undefined) throw new AppError('not_found', `no stack named '${showStackName(name)}' found`);
    return found;
  };

  /** The newest key, made on first use; of two makers the first one wins. */
  const currentKey = async (name: StackName): Promise<Buffer> => {
    const { stackId, keys } = await keysOf(name);
    const [newest] = keys;
    if (newest !== undefined) return unsealOnce(newest);
    await insertStackKey(db, sealKey(keyRing, stackId, 1, randomBytes(keyBytes)));
    return currentKey(name);
  };

  /** No associated data: the format of the specification. */
  const encrypt = async (name: StackName, plaintexts: readonly Uint8Array[]): Promise<readonly string[]> => {
    const key = await currentKey(name);
    return plaintexts.map((plaintext) => wrapForWire(frame(seal(key, plaintext))));
  };

  /** Throws `malformed` for what was not sealed under any key of this stack. */
  const decrypt = async (name: StackName, ciphertexts: readonly string[]): Promise<readonly Buffer[]> => {
    const sealed = ciphertexts.map(unframe);
    const keys = (await keysOf(name)).keys.map(unsealOnce);
    return sealed.map((value) => openWithAny(keys, value));
  };

  /** Returns the new key's version. Values sealed under older ones stay readable. */
  const rotateKey = async (name: StackName): Promise<number> => {
    const { stackId, keys } = await keysOf(name);
    const version = (keys[0]?.version ?? 0) + 1;
    if (!(await insertStackKey(db, sealKey(keyRing, stackId, version, randomBytes(keyBytes))))) {
      throw new AppError('conflict', 'the key is being rotated by somebody else');
    }
    return version;
  };

  return { encrypt, decrypt, rotateKey };
};

const openWithAny = (keys: readonly Buffer[], value: SealedValue): Buffer => {
  for (const key of keys) {
    const plaintext = tryOpen(key, value);
    if (plaintext !== undefined) return plaintext;
  }
  throw new AppError('malformed', 'the ciphertext cannot be decrypted with the key of this stack', {
    code: 'undecryptable',
  });
};

const tryOpen = (key: Buffer, { nonce, ciphertext, tag }: SealedValue): Buffer | undefined => {
  try {
    return open(key, {
      nonce: Buffer.from(nonce),
      ciphertext: Buffer.from(ciphertext),
      tag: Buffer.from(tag),
    });
  } catch {
    return undefined;
  }
};
