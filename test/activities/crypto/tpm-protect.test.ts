import { describe, expect, it } from '@jest/globals';
import { loadStoredEk } from '../../../activities/crypto/ek.js';
import { sealedObject } from '../../../activities/crypto/import-object.js';
import { kdfa, kdfe } from '../../../activities/crypto/tpm-kdf.js';
import { protect } from '../../../activities/crypto/tpm-protect.js';
import { sized } from '../../../domain/broker/tpm/bytes.js';
import { envelopeKats, fromBase64, kdfKat, tpmVectors } from '../../support/tpm-vectors.js';

const hex = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'hex');
const none = new Uint8Array();

describe('key derivation of the TPM', () => {
  const x = (point: string | undefined) => hex(point).subarray(1, 49);

  it.each(['IDENTITY', 'DUPLICATE'])('KDFe %s on P-384', (label) => {
    const seed = kdfe({
      hash: 'sha384',
      z: hex(kdfKat['z_x_hex']),
      label,
      partyU: x(kdfKat['ephemeral_pub_hex']),
      partyV: x(kdfKat['static_pub_hex']),
      bits: 384,
    });
    expect(seed.toString('hex')).toBe(kdfKat[`seed_${label}`]);
  });

  it('KDFa with SHA-384 and SHA-256', () => {
    const key = hex(kdfKat['seed_IDENTITY']);
    const name = hex(kdfKat['name_hex']);
    const of = (label: string, contextU: Uint8Array, bits: number) =>
      kdfa({ hash: 'sha384', key, label, contextU, contextV: none, bits }).toString('hex');
    expect(of('STORAGE', name, 256)).toBe(kdfKat['kdfa_STORAGE_256']);
    expect(of('INTEGRITY', none, 384)).toBe(kdfKat['kdfa_INTEGRITY_384']);
    const small = kdfKat.rsa_case;
    const rsa = { hash: 'sha256', key: hex(small['seed_hex']), contextV: none } as const;
    const storage = kdfa({ ...rsa, label: 'STORAGE', contextU: hex(small['name_hex']), bits: 128 });
    expect(storage.toString('hex')).toBe(small['kdfa_STORAGE_128']);
    const integrity = kdfa({ ...rsa, label: 'INTEGRITY', contextU: none, bits: 256 });
    expect(integrity.toString('hex')).toBe(small['kdfa_INTEGRITY_256']);
  });
});

describe.each(['rsa', 'ecc'] as const)('known answers that the TPM opened, %s EK', (kind) => {
  const kat = envelopeKats[kind];
  const { area } = loadStoredEk(tpmVectors.eks[kind].cert_der_b64, 'cert');
  const aesKey = hex(kat.aes_key_hex);

  it('credential', () => {
    const blob = protect(area, hex(kat.credential['seed_hex']), hex(kat.ak_name_hex), sized(aesKey));
    expect(Buffer.from(sized(blob))).toEqual(fromBase64(kat.credential_blob_tpm2b_b64));
  });

  it('import', () => {
    const object = sealedObject(aesKey, none, hex(kat.import['object_seed_value_hex']));
    expect(Buffer.from(sized(object.publicArea))).toEqual(fromBase64(kat.import_public_tpm2b_b64));
    expect(object.name.toString('hex')).toBe(kat.import['object_name_hex']);
    const duplicate = protect(area, hex(kat.import['seed_hex']), object.name, sized(object.sensitive));
    expect(Buffer.from(sized(duplicate))).toEqual(fromBase64(kat.import_duplicate_tpm2b_b64));
  });
});
