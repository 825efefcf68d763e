import { generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { AttestationKey } from '../../activities/crypto/ak.js';
import { tpmKeyOf } from '../../activities/crypto/tpm-key.js';
import { tpmName } from '../../activities/crypto/tpm-name.js';
import type { SigningScheme, TpmHash } from '../../domain/broker/tpm/algorithms.js';
import { alg, curves, hashes } from '../../domain/broker/tpm/algorithms.js';
import { concat, sized, u16, u32 } from '../../domain/broker/tpm/bytes.js';
import type { TpmKey } from '../../domain/broker/tpm/public-area.js';
import { parsePublicArea } from '../../domain/broker/tpm/public-area.js';
import { parseAttestationKey } from '../../activities/crypto/ak.js';

/** An attestation key whose private half the test holds: for signatures that no TPM would make. */
export interface SoftwareAk {
  readonly ak: AttestationKey;
  readonly privateKey: KeyObject;
  /** TPMT_PUBLIC. */
  readonly publicArea: Uint8Array;
}

const schemeIds = { rsassa: alg.rsassa, rsapss: alg.rsapss, ecdsa: alg.ecdsa } as const;

const encode = (key: TpmKey, scheme: SigningScheme, hash: TpmHash): Uint8Array =>
  concat(
    u16(key.kind === 'rsa' ? alg.rsa : alg.ecc),
    u16(alg.sha256),
    u32(0x00050072),
    sized(new Uint8Array()),
    u16(alg.null),
    u16(schemeIds[scheme]),
    u16(hashes[hash].id),
    key.kind === 'rsa'
      ? concat(u16(key.bits), u32(0), sized(key.modulus))
      : concat(u16(curves[key.curve].id), u16(alg.null), sized(key.x), sized(key.y)),
  );

export const makeSoftwareAk = (scheme: SigningScheme, hash: TpmHash, curve = 'prime256v1'): SoftwareAk => {
  const pair =
    scheme === 'ecdsa'
      ? generateKeyPairSync('ec', { namedCurve: curve })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const publicArea = encode(tpmKeyOf(pair.publicKey, 'test key'), scheme, hash);
  const ak = parseAttestationKey(publicArea);
  if (!tpmName(parsePublicArea(publicArea)).equals(ak.name)) throw new Error('name');
  return { ak, privateKey: pair.privateKey, publicArea };
};
