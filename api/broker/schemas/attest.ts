import { z } from 'zod';
import { pcrValues } from './attestation.js';
import { ekFields, hardwareFields } from './machine-fields.js';
import { hardwareOf, presentedEkOf } from './registration.js';

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
    ...presentedEkOf(body),
    nonceId: body.nonce_id ?? null,
    nonceSignature: body.nonce_signature ?? null,
    pcrQuote: body.pcr_quote ?? null,
    pcrSignature: body.pcr_signature ?? null,
    pcrValues: body.pcr_values ?? null,
    ...hardwareOf(body),
  }));
