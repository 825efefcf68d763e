import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** PKCS#8 of an Ed25519 key is this prefix and the 32-byte seed (RFC 8410, section 7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SPKI_PREFIX_BYTES = 12;
const ALGORITHM_ED25519 = 1;

/** Signs texts as C2SP `signed-note`s. */
export interface NoteSigner {
  /** Verifier key `<name>+<hash>+<key>`, as note tools take it. */
  readonly verifierKey: string;
  readonly sign: (text: string) => string;
}

/** `text` ends with a newline; `seed` has 32 bytes. */
export const createNoteSigner = (name: string, seed: Uint8Array): NoteSigner => {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  });
  const publicKey = rawPublicKey(createPublicKey(privateKey));
  const typed = Buffer.concat([Buffer.from([ALGORITHM_ED25519]), publicKey]);
  const keyHash = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4);
  return {
    verifierKey: `${name}+${keyHash.toString('hex')}+${typed.toString('base64')}`,
    sign: (text) => {
      const signature = Buffer.concat([keyHash, sign(null, Buffer.from(text, 'utf8'), privateKey)]);
      return `${text}\n\u2014 ${name} ${signature.toString('base64')}\n`;
    },
  };
};

const rawPublicKey = (key: KeyObject): Buffer =>
  key.export({ type: 'spki', format: 'der' }).subarray(SPKI_PREFIX_BYTES);
