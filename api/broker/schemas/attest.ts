import { z } from 'zod';
import { pcrValues } from './attestation.js';
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
    pcr_values: pcrValues.nullish(),
  })
  .transform((body) => ({
    ekFingerprint: body.ek_fingerprint,
    ekCertPem: body.ek_cert_pem,
    ekSource: body.ek_source,
    ekChain: body.ek_chain ?? null,
    ekPublic: body.ek_public ?? null,
    nonceId: body.nonce_id ?? null,
    nonceSignature: body.nonce_signature ?? null,
    pcrQuote: body.pcr_quote ?? null,
    pcrSignature: body.pcr_signature ?? null,
    pcrValues: body.pcr_values ?? null,
    ...hardwareOf(body),
  }));
