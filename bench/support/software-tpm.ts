import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { parseAttestationKey } from '../../activities/crypto/ak.js';
import { tpmKeyOf } from '../../activities/crypto/tpm-key.js';
import { concat, sized, u16, u32 } from '../../domain/broker/tpm/bytes.js';
import type { BenchDatabase } from './world.js';

/** A P-384 attestation key in software, stored as if activated: the bench measures the gateway, not a TPM. */
export interface BenchAk {
  readonly store: (database: BenchDatabase, machineId: string) => Promise<void>;
  /** The evidence of attest over a nonce. */
  readonly quote: (nonce: Buffer) => { readonly pcr_quote: string; readonly pcr_signature: string };
}

export const benchAk = (): BenchAk => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'secp384r1' });
  const key = tpmKeyOf(publicKey, 'bench key');
  if (key.kind !== 'ecc') throw new Error('bench key');
  const scheme = concat(u16(0x0010), u16(0x0018), u16(0x000c));
  const point = concat(u16(4), u16(0x0010), sized(key.x), sized(key.y));
  const area = concat(u16(0x0023), u16(0x000c), u32(0x00050072), sized(new Uint8Array()), scheme, point);
  const ak = parseAttestationKey(area);
  const digest = createHash('sha384').update('pcr').digest();
  return {
    store: async ({ db }, machineId) => {
      const pem = publicKey.export({ type: 'spki', format: 'pem' });
      await db('attestation_keys').insert({
        machine_id: machineId,
        ak_public: Buffer.from(area),
        ak_name: ak.name,
        ak_pub: pem,
      });
    },
    quote: (nonce) => {
      const clock = concat(new Uint8Array(8), u32(1), u32(0), Uint8Array.of(1), new Uint8Array(8));
      const selection = concat(u32(1), u16(0x000b), Uint8Array.of(3, 0x80, 0, 0));
      const head = concat(u32(0xff544347), u16(0x8018), sized(ak.name), sized(nonce));
      const attest = concat(head, clock, selection, sized(digest));
      const raw = sign('sha384', attest, { key: privateKey, dsaEncoding: 'ieee-p1363' });
      const signature = concat(u16(0x0018), u16(0x000c), sized(raw.subarray(0, 48)), sized(raw.subarray(48)));
      const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
      return { pcr_quote: text(sized(attest)), pcr_signature: text(signature) };
    },
  };
};
