import { z } from 'zod';
import { ekFields, hardwareFields, role } from './machine-fields.js';
import { hardwareOf } from './registration.js';

const pem = z.string().min(1).max(65_536);
const base64 = z.string().min(1).max(16_384);

export const EnrollRequest = z
  .object({ cert_pem: pem, nonce: z.string().min(1).max(1024), nonce_signature: base64 })
  .transform((body) => ({ certPem: body.cert_pem, nonce: body.nonce, nonceSignature: body.nonce_signature }));

const emptyIsAbsent = (value: string | null | undefined): string | null =>
  value === undefined || value === '' ? null : value;
const optionalText = z.string().max(65_536).nullish().transform(emptyIsAbsent);

export const RequestCertRequest = z
  .object({
    ek_fingerprint: ekFields.ek_fingerprint,
    ek_cert_pem: optionalText,
    ek_source: ekFields.ek_source,
    wrapping_key_pem: optionalText,
    csr_pem: optionalText,
    wrapping_key_public: optionalText,
    certify_attest: optionalText,
    certify_signature: optionalText,
    nonce_id: optionalText,
    nonce_signature: optionalText,
  })
  .transform((body) => ({
    ekFingerprint: body.ek_fingerprint,
    ekCertPem: body.ek_cert_pem,
    ekSource: body.ek_source,
    wrappingKeyPem: body.wrapping_key_pem,
    csrPem: body.csr_pem,
    wrappingKeyPublic: body.wrapping_key_public,
    certifyAttest: body.certify_attest,
    certifySignature: body.certify_signature,
    nonceId: body.nonce_id,
    nonceSignature: body.nonce_signature,
  }));

export const IssueOperatorRequest = z.object({ csr_pem: pem });

export const ImportRequest = z
  .object({
    ...ekFields,
    ...hardwareFields,
    ek_fingerprint: ekFields.ek_fingerprint.nullish(),
    machine_id: z.uuid().nullish(),
    role: role.nullish(),
  })
  .transform((body) => ({
    ekFingerprint: body.ek_fingerprint ?? null,
    ekCertPem: body.ek_cert_pem,
    ekSource: body.ek_source,
    ekChain: body.ek_chain ?? null,
    ekPublic: body.ek_public ?? null,
    machineId: body.machine_id?.toLowerCase() ?? null,
    role: body.role ?? null,
    ...hardwareOf(body),
  }));
