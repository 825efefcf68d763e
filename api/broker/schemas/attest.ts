import { z } from 'zod';
import { ekFields, hardwareFields } from './machine-fields.js';
import { hardwareOf } from './registration.js';

const evidence = z.string().min(1).max(16_384).nullish();

export const AttestRequest = z
  .object({
    ...ekFields,
    ...hardwareFields,
    nonce_id: z.string().min(1).max(128).nullish(),
    nonce_signature: evidence,
    pcr_quote: evidence,
    pcr_signature: evidence,
  })
  .transform((body) => ({
    ekFingerprint: body.ek_fingerprint,
    ekCertPem: body.ek_cert_pem,
    ekSource: body.ek_source,
    nonceId: body.nonce_id ?? null,
    nonceSignature: body.nonce_signature ?? null,
    pcrQuote: body.pcr_quote ?? null,
    pcrSignature: body.pcr_signature ?? null,
    ...hardwareOf(body),
  }));
