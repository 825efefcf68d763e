import type { TpmCurve, TpmHash } from './algorithms.js';
import { alg, curveOf, curves, hashOf, hashes } from './algorithms.js';
import { TpmReader, concat, sized, u16, u32, unwrapSized } from './bytes.js';

/** TPMA_OBJECT bits. */
export const attribute = {
  fixedTpm: 0x2,
  fixedParent: 0x10,
  sensitiveDataOrigin: 0x20,
  userWithAuth: 0x40,
  noDictionaryAttack: 0x400,
  restricted: 0x10000,
  decrypt: 0x20000,
  sign: 0x40000,
} as const;

export type TpmKey =
  | {
      readonly kind: 'rsa';
      readonly bits: number;
      /** The public exponent; 0 on the wire means 65537. */
      readonly exponent: number;
      readonly modulus: Uint8Array;
    }
  | { readonly kind: 'ecc'; readonly curve: TpmCurve; readonly x: Uint8Array; readonly y: Uint8Array };

export type KeyScheme = 'rsassa' | 'rsapss' | 'ecdsa' | 'rsaes' | 'oaep' | 'ecdh';

export interface PublicArea {
  readonly nameAlg: TpmHash;
  readonly attributes: number;
  readonly authPolicy: Uint8Array;
  /** Bits of the AES-CFB key that protects children of a storage key; null on other keys. */
  readonly symmetricBits: number | null;
  readonly scheme: { readonly alg: KeyScheme; readonly hash: TpmHash | null } | null;
  readonly key: TpmKey;
  /** The TPMT_PUBLIC bytes, over which the Name is computed. */
  readonly bytes: Uint8Array;
}

const what = 'TPM public area';
const defaultExponent = 65_537;
const maxPolicy = 64;
const maxModulus = 512;
const schemes = new Map<number, KeyScheme>([
  [alg.rsassa, 'rsassa'],
  [alg.rsapss, 'rsapss'],
  [alg.rsaes, 'rsaes'],
  [alg.oaep, 'oaep'],
  [alg.ecdsa, 'ecdsa'],
  [alg.ecdh, 'ecdh'],
]);

/** Whether bytes can only be a TPM2B_PUBLIC or TPMT_PUBLIC (a DER structure begins with 0x30). */
export const looksLikePublicArea = (bytes: Uint8Array): boolean => bytes[0] === 0x00 || bytes[0] === 0x01;

/** Parses TPM2B_PUBLIC or TPMT_PUBLIC of an RSA or ECC key (TPM 2.0 part 2, 12.2.4); throws `invalid`. */
export const parsePublicArea = (input: Uint8Array): PublicArea => {
  const bytes = unwrapSized(input) ?? input;
  const reader = new TpmReader(bytes, what);
  const type = reader.u16();
  if (type !== alg.rsa && type !== alg.ecc) {
    throw reader.error('it is neither an RSA nor an ECC key, or its size field does not match its length');
  }
  const nameAlg = readHash(reader);
  const attributes = reader.u32();
  const authPolicy = reader.sized(maxPolicy);
  const symmetricBits = readSymmetric(reader);
  const scheme = readScheme(reader);
  const key = type === alg.rsa ? readRsa(reader) : readEcc(reader);
  reader.end();
  return { nameAlg, attributes, authPolicy, symmetricBits, scheme, key, bytes };
};

const readHash = (reader: TpmReader): TpmHash => {
  const id = reader.u16();
  const hash = hashOf(id);
  if (hash === undefined) throw reader.error(`hash 0x${id.toString(16)} is not accepted`);
  return hash;
};

const readSymmetric = (reader: TpmReader): number | null => {
  const id = reader.u16();
  if (id === alg.null) return null;
  if (id !== alg.aes) throw reader.error('its symmetric algorithm is not AES');
  const bits = reader.u16();
  if (bits !== 128 && bits !== 192 && bits !== 256) throw reader.error(`AES with ${bits} bits`);
  if (reader.u16() !== alg.cfb) throw reader.error('its symmetric mode is not CFB');
  return bits;
};

const readScheme = (reader: TpmReader): PublicArea['scheme'] => {
  const id = reader.u16();
  if (id === alg.null) return null;
  const scheme = schemes.get(id);
  if (scheme === undefined) throw reader.error(`scheme 0x${id.toString(16)} is not accepted`);
  return { alg: scheme, hash: scheme === 'rsaes' ? null : readHash(reader) };
};

const readRsa = (reader: TpmReader): TpmKey => {
  const bits = reader.u16();
  const exponent = reader.u32();
  const modulus = reader.sized(maxModulus);
  const topBitSet = ((modulus[0] ?? 0) & 0x80) !== 0;
  if (modulus.length * 8 !== bits || !topBitSet) throw reader.error('its modulus does not fit its key size');
  return { kind: 'rsa', bits, exponent: exponent === 0 ? defaultExponent : exponent, modulus };
};

const readEcc = (reader: TpmReader): TpmKey => {
  const id = reader.u16();
  const curve = curveOf(id);
  if (curve === undefined) throw reader.error(`curve ${id} is not accepted`);
  if (reader.u16() !== alg.null) throw reader.error('it has a key derivation scheme');
  const { size } = curves[curve];
  const x = reader.sized(size);
  const y = reader.sized(size);
  if (x.length !== size || y.length !== size) throw reader.error('a coordinate is not padded to its curve');
  return { kind: 'ecc', curve, x, y };
};

/** What a TPMT_PUBLIC is made of, for an area that we rebuild ourselves. */
export type PublicAreaTemplate = Omit<PublicArea, 'bytes'>;

/** Encodes a storage key (scheme null, or none) as TPMT_PUBLIC. */
export const encodePublicArea = (area: PublicAreaTemplate): PublicArea => {
  const symmetric =
    area.symmetricBits === null ? u16(alg.null) : concat(u16(alg.aes), u16(area.symmetricBits), u16(alg.cfb));
  const bytes = concat(
    u16(area.key.kind === 'rsa' ? alg.rsa : alg.ecc),
    u16(hashes[area.nameAlg].id),
    u32(area.attributes),
    sized(area.authPolicy),
    symmetric,
    u16(alg.null),
    encodeKey(area.key),
  );
  return { ...area, bytes };
};

const encodeKey = (key: TpmKey): Uint8Array =>
  key.kind === 'rsa'
    ? concat(u16(key.bits), u32(key.exponent === defaultExponent ? 0 : key.exponent), sized(key.modulus))
    : concat(u16(curves[key.curve].id), u16(alg.null), sized(key.x), sized(key.y));

export const hasAll = (attributes: number, bits: number): boolean => (attributes & bits) === bits;
export const hasNone = (attributes: number, bits: number): boolean => (attributes & bits) === 0;
