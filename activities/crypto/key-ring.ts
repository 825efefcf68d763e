import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '../../domain/errors.js';
import { open, seal } from './aead.js';

const KEY_BYTES = 32;

/** The variables of the master-key selection, already parsed: keys are 64 hex characters. */
export interface KeySettings {
  readonly masterKey?: string | undefined;
  readonly passphrase?: string | undefined;
  /** Retired keys: they open what they sealed and seal nothing new. */
  readonly previousKeys: readonly string[];
}

/** What a key is for. Two scopes never share a key; `context` is public text such as a row's id and name. */
export interface KeyScope {
  /** e.g. `svc/machine-secret/v1`. */
  readonly purpose: string;
  readonly salt?: Uint8Array;
  readonly context?: readonly string[];
}

/** AES-256-GCM: 12-byte nonce, 16-byte tag, beside the id of the master key that the key was derived from. */
export interface Sealed {
  readonly keyId: string;
  readonly nonce: Buffer;
  readonly tag: Buffer;
  readonly ciphertext: Buffer;
}

export interface KeyRing {
  readonly currentKeyId: string;
  /** Ids that `open` can serve, current one first. */
  readonly keyIds: readonly string[];
  /** True when the key was drawn at start: whatever it seals dies with this process. */
  readonly ephemeral: boolean;
  /** HKDF-SHA256, 32 bytes, info = purpose, context and key id joined by NUL. */
  derive(scope: KeyScope, keyId?: string): Buffer;
  /** Seals under the current key; `aad` binds the place where the result is kept. */
  seal(scope: KeyScope, aad: string, plaintext: Uint8Array): Sealed;
  /** Throws `unavailable` when the key is not in the ring or the bytes are not what was sealed there. */
  open(scope: KeyScope, aad: string, sealed: Sealed): Buffer;
}

/** Master key of the specification: the hex key, else SHA-256 of the passphrase, else 32 random bytes. */
export const createKeyRing = (settings: KeySettings): KeyRing => {
  const current = selectMasterKey(settings);
  const masters = new Map([current, ...settings.previousKeys.map(fromHex)].map((key) => [keyIdOf(key), key]));
  const currentKeyId = keyIdOf(current);

  const derive = (scope: KeyScope, keyId = currentKeyId): Buffer => {
    const master = masters.get(keyId);
    if (master === undefined) throw unreadable('the key it was sealed under is not configured');
    const info = [scope.purpose, ...(scope.context ?? []), keyId].join('\0');
    return Buffer.from(hkdfSync('sha256', master, scope.salt ?? Buffer.alloc(0), info, KEY_BYTES));
  };
  return {
    currentKeyId,
    keyIds: [...masters.keys()],
    ephemeral: settings.masterKey === undefined && settings.passphrase === undefined,
    derive,
    seal: (scope, aad, plaintext) => ({
      keyId: currentKeyId,
      ...seal(derive(scope), plaintext, Buffer.from(aad)),
    }),
    open: (scope, aad, sealed) => open(derive(scope, sealed.keyId), sealed, Buffer.from(aad)),
  };
};

const selectMasterKey = ({ masterKey, passphrase }: KeySettings): Buffer => {
  if (masterKey !== undefined) return fromHex(masterKey);
  if (passphrase !== undefined) return createHash('sha256').update(passphrase).digest();
  return randomBytes(KEY_BYTES);
};

const fromHex = (hex: string): Buffer => {
  if (!/^[0-9a-f]{64}$/i.test(hex)) throw new Error('a master key is 64 hex characters');
  return Buffer.from(hex, 'hex');
};

/** Public name of a key: says nothing about it, and is the same in every process that holds it. */
const keyIdOf = (key: Buffer): string =>
  `key-${Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), 'svc/key-id/v1', 8)).toString('hex')}`;

const unreadable = (why: string): AppError =>
  new AppError('unavailable', `sealed value cannot be opened: ${why}`, { code: 'unreadable' });
