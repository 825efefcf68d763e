import { z } from 'zod';
import { role } from './machine-fields.js';

const base64 = z.string().min(1).max(16_384);
const fingerprint = z.string().max(200);

/** Two calls on one path: the first asks for a credential, the second shows what the TPM made of it. */
export const AkActivateRequest = z.union([
  z.object({ activation_id: z.uuid(), secret: base64 }).transform((body) => ({
    step: 'complete' as const,
    activationId: body.activation_id,
    secret: body.secret,
  })),
  z.object({ ek_fingerprint: fingerprint, ak_public: base64 }).transform((body) => ({
    step: 'begin' as const,
    ekFingerprint: body.ek_fingerprint,
    akPublic: body.ak_public,
  })),
]);

const hex = z
  .string()
  .max(128)
  .regex(/^(?:[0-9a-fA-F]{2})+$/, 'must be hexadecimal')
  .transform((value) => value.toLowerCase());
const bank = z.enum(['sha256', 'sha384', 'sha512']);

const pcrNumber = z.string().regex(/^\d{1,2}$/, 'must be the number of a PCR');

/** Register values by bank and number, beside a quote. */
export const pcrValues = z.partialRecord(bank, z.record(pcrNumber, hex));

export const PcrPolicyRequest = z.object({
  bank,
  pcrs: z.record(pcrNumber, z.array(hex).min(1).max(256)),
  mode: z.enum(['enforce', 'warn']).default('enforce'),
});

/** A node's own report; anything else is an operator's. */
export const WipeProof = z
  .object({ nonce_id: z.string().min(1).max(128), nonce_signature: base64 })
  .transform((body) => ({ nonceId: body.nonce_id, nonceSignature: body.nonce_signature }));

export const roleInPath = role;
