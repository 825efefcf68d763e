/** Algorithm identifiers of the TCG Algorithm Registry, as far as the broker accepts them. SHA-1 is left out on purpose. */
export const alg = {
  rsa: 0x0001,
  aes: 0x0006,
  keyedHash: 0x0008,
  sha256: 0x000b,
  sha384: 0x000c,
  sha512: 0x000d,
  null: 0x0010,
  rsassa: 0x0014,
  rsaes: 0x0015,
  rsapss: 0x0016,
  oaep: 0x0017,
  ecdsa: 0x0018,
  ecdh: 0x0019,
  ecc: 0x0023,
  cfb: 0x0043,
} as const;

export type TpmHash = 'sha256' | 'sha384' | 'sha512';
export type SigningScheme = 'rsassa' | 'rsapss' | 'ecdsa';
export type TpmCurve = 'P-256' | 'P-384' | 'P-521';

interface HashFacts {
  readonly id: number;
  /** Digest size in bytes. */
  readonly size: number;
}
export const hashes: Readonly<Record<TpmHash, HashFacts>> = {
  sha256: { id: alg.sha256, size: 32 },
  sha384: { id: alg.sha384, size: 48 },
  sha512: { id: alg.sha512, size: 64 },
};

interface CurveFacts {
  /** TPM_ECC_CURVE. */
  readonly id: number;
  /** Size of one coordinate in bytes. */
  readonly size: number;
}
export const curves: Readonly<Record<TpmCurve, CurveFacts>> = {
  'P-256': { id: 3, size: 32 },
  'P-384': { id: 4, size: 48 },
  'P-521': { id: 5, size: 66 },
};

const hashById = new Map<number, TpmHash>([
  [alg.sha256, 'sha256'],
  [alg.sha384, 'sha384'],
  [alg.sha512, 'sha512'],
]);
const curveById = new Map<number, TpmCurve>([
  [3, 'P-256'],
  [4, 'P-384'],
  [5, 'P-521'],
]);
const signingById = new Map<number, SigningScheme>([
  [alg.rsassa, 'rsassa'],
  [alg.rsapss, 'rsapss'],
  [alg.ecdsa, 'ecdsa'],
]);

export const hashOf = (id: number): TpmHash | undefined => hashById.get(id);
export const curveOf = (id: number): TpmCurve | undefined => curveById.get(id);
export const signingSchemeOf = (id: number): SigningScheme | undefined => signingById.get(id);
