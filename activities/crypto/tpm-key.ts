import { createPublicKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { TpmCurve } from '../../domain/broker/tpm/algorithms.js';
import { curves } from '../../domain/broker/tpm/algorithms.js';
import { padLeft } from '../../domain/broker/tpm/bytes.js';
import type { TpmKey } from '../../domain/broker/tpm/public-area.js';
import { AppError } from '../../domain/errors.js';

/** Conversions between a TPM's public key, Node's KeyObject and SubjectPublicKeyInfo. */

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

const exponentBytes = (exponent: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(exponent);
  return bytes.subarray(bytes.findIndex((byte) => byte !== 0));
};

/** Throws `invalid` when the point is not on its curve. */
export const publicKeyOf = (key: TpmKey): KeyObject => {
  const jwk =
    key.kind === 'rsa'
      ? { kty: 'RSA', n: base64url(key.modulus), e: base64url(exponentBytes(key.exponent)) }
      : { kty: 'EC', crv: key.curve, x: base64url(key.x), y: base64url(key.y) };
  try {
    return createPublicKey({ key: jwk, format: 'jwk' });
  } catch (error) {
    throw new AppError('invalid', 'public key is not a point on its curve', { cause: error });
  }
};

const minRsaBits = 2048;
const maxRsaBits = 4096;
const minExponent = 65_537n;

/**
 * The key as the TPM describes it. Throws `invalid` for anything but RSA of 2048 to 4096 bits with an ordinary
 * exponent, or a named curve P-256, P-384 or P-521.
 */
export const tpmKeyOf = (key: KeyObject, what: string): TpmKey => {
  const refused = (why: string) => new AppError('invalid', `${what} is not acceptable: ${why}`);
  const details = key.asymmetricKeyDetails ?? {};
  const jwk = () => key.export({ format: 'jwk' });
  if (key.asymmetricKeyType === 'rsa') {
    const bits = details.modulusLength ?? 0;
    const exponent = details.publicExponent ?? 0n;
    if (bits < minRsaBits || bits > maxRsaBits || bits % 8 !== 0) throw refused(`RSA of ${bits} bits`);
    if (exponent < minExponent || exponent > 0xffffffffn || exponent % 2n === 0n)
      throw refused('RSA exponent');
    return {
      kind: 'rsa',
      bits,
      exponent: Number(exponent),
      modulus: Buffer.from(jwk().n ?? '', 'base64url'),
    };
  }
  if (key.asymmetricKeyType !== 'ec') throw refused('it is neither RSA nor elliptic curve');
  const curve = curveNames.get(details.namedCurve ?? '');
  if (curve === undefined) throw refused('curve');
  const point = jwk();
  return { kind: 'ecc', curve, x: coordinate(point.x, curve), y: coordinate(point.y, curve) };
};

const curveNames = new Map<string, TpmCurve>([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
]);

const coordinate = (text: string | undefined, curve: TpmCurve): Uint8Array =>
  padLeft(Buffer.from(text ?? '', 'base64url'), curves[curve].size) ?? new Uint8Array(curves[curve].size);

/** SubjectPublicKeyInfo in one form (named curve, uncompressed point), so that one key has one hash. */
export const spkiOf = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });
