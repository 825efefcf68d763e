import { constants, createCipheriv, createHmac, publicEncrypt, randomBytes, webcrypto } from 'node:crypto';
import { hashes } from '../../domain/broker/tpm/algorithms.js';
import { concat, sized } from '../../domain/broker/tpm/bytes.js';
import type { PublicArea, TpmKey } from '../../domain/broker/tpm/public-area.js';
import { AppError } from '../../domain/errors.js';
import type { EkTarget } from './ek.js';
import { kdfa, kdfe, label } from './tpm-kdf.js';

/** Protection of a blob under an EK (TPM 2.0 part 1, 23 and 24): what MakeCredential and Duplicate do. */
export type Purpose = 'IDENTITY' | 'DUPLICATE';

export interface ProtectedSeed {
  readonly seed: Buffer;
  /** TPM2B_ENCRYPTED_SECRET: the seed, for the EK only. */
  readonly encryptedSecret: Uint8Array;
}

/** A fresh seed of the EK's name hash size. ECC runs off the event loop. */
export const createSeed = async (ek: EkTarget, purpose: Purpose): Promise<ProtectedSeed> =>
  ek.key.kind === 'rsa' ? rsaSeed(ek, purpose) : ecSeed(ek.area, ek.key, purpose);

const rsaSeed = (ek: EkTarget, purpose: Purpose): ProtectedSeed => {
  const hash = ek.area.nameAlg;
  const seed = randomBytes(hashes[hash].size);
  const wrapped = publicEncrypt(
    {
      key: ek.publicKey,
      padding: constants.RSA_PKCS1_OAEP_PADDING,
      oaepHash: hash,
      oaepLabel: label(purpose),
    },
    seed,
  );
  return { seed, encryptedSecret: sized(wrapped) };
};

type EcKey = Extract<TpmKey, { kind: 'ecc' }>;
const uncompressed = Uint8Array.of(4);

const ecSeed = async (area: PublicArea, ek: EcKey, purpose: Purpose): Promise<ProtectedSeed> => {
  const algorithm = { name: 'ECDH', namedCurve: ek.curve };
  const { subtle } = webcrypto;
  const [peer, ephemeral] = await Promise.all([
    subtle.importKey('raw', concat(uncompressed, ek.x, ek.y), algorithm, false, []),
    subtle.generateKey(algorithm, true, ['deriveBits']),
  ]);
  const [z, point] = await Promise.all([
    subtle.deriveBits({ name: 'ECDH', public: peer }, ephemeral.privateKey, null as unknown as number),
    subtle.exportKey('raw', ephemeral.publicKey),
  ]);
  const size = ek.x.length;
  const x = new Uint8Array(point, 1, size);
  const y = new Uint8Array(point, 1 + size, size);
  const seed = kdfe({
    hash: area.nameAlg,
    z: new Uint8Array(z),
    label: purpose,
    partyU: x,
    partyV: ek.x,
    bits: 8 * hashes[area.nameAlg].size,
  });
  return { seed, encryptedSecret: sized(concat(sized(x), sized(y))) };
};

const zeroIv = Buffer.alloc(16);
const none = new Uint8Array();

/**
 * Encrypt-then-MAC of `content` for the object `name`: 2B(mac) || AES-CFB(content), the body of TPM2B_ID_OBJECT and
 * of a duplicated TPM2B_PRIVATE.
 */
export const protect = (
  area: PublicArea,
  seed: Uint8Array,
  name: Uint8Array,
  content: Uint8Array,
): Buffer => {
  const hash = area.nameAlg;
  const bits = area.symmetricBits;
  if (bits === null) throw new AppError('not_acceptable', 'this EK is not a storage key');
  const derive = (purpose: string, contextU: Uint8Array, size: number) =>
    kdfa({ hash, key: seed, label: purpose, contextU, contextV: none, bits: size });
  const cipher = createCipheriv(`aes-${bits}-cfb`, derive('STORAGE', name, bits), zeroIv);
  const encrypted = Buffer.concat([cipher.update(content), cipher.final()]);
  const mac = createHmac(hash, derive('INTEGRITY', none, 8 * hashes[hash].size))
    .update(encrypted)
    .update(name)
    .digest();
  return Buffer.concat([sized(mac), encrypted]);
};
