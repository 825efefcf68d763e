import { z } from 'zod';
import {
  SECRET_DESCRIPTION_MAX,
  SECRET_NAME_MAX,
  SECRET_TTL_MAX_SECONDS,
  SECRET_VALUE_MAX_BYTES,
  utf8Length,
} from '../../../domain/broker/secret.js';
import { plainText } from '../../http/validate.js';

const name = plainText(SECRET_NAME_MAX, 1);
const value = z
  .string()
  .min(1)
  .max(SECRET_VALUE_MAX_BYTES, `must have ${SECRET_VALUE_MAX_BYTES} bytes at most`)
  .refine((text) => text.isWellFormed(), 'must not contain lone surrogates')
  .refine(
    (text) => utf8Length(text) <= SECRET_VALUE_MAX_BYTES,
    `must have ${SECRET_VALUE_MAX_BYTES} bytes at most`,
  );
const description = plainText(SECRET_DESCRIPTION_MAX);
const ttl = z.int().min(1).max(SECRET_TTL_MAX_SECONDS);
const machineIds = z
  .array(z.uuid().transform((id) => id.toLowerCase()))
  .min(1)
  .max(1_000);

export const CreateMachineSecretRequest = z
  .object({ name, value, ttl_seconds: ttl.nullish() })
  .transform((body) => ({ name: body.name, value: body.value, ttlSeconds: body.ttl_seconds ?? null }));

export const ReplaceMachineSecretRequest = z
  .object({ value, ttl_seconds: ttl.nullish() })
  .transform((body) => ({ value: body.value, ttlSeconds: body.ttl_seconds ?? null }));

export const CreateSharedSecretRequest = z
  .object({ name, value, description: description.nullish(), ttl_seconds: ttl.nullish() })
  .transform((body) => ({
    name: body.name,
    value: body.value,
    description: body.description ?? null,
    ttlSeconds: body.ttl_seconds ?? null,
  }));

/** Null means unchanged, as an absent field does. */
export const UpdateSharedSecretRequest = z
  .object({ value: value.nullish(), description: description.nullish(), ttl_seconds: ttl.nullish() })
  .transform((body) => ({
    value: body.value ?? undefined,
    description: body.description ?? undefined,
    ttlSeconds: body.ttl_seconds ?? undefined,
  }));

export const AccessRequest = z
  .object({ machine_ids: machineIds })
  .transform((body) => ({ machineIds: [...new Set(body.machine_ids)] }));

/** What a machine sends with a read. */
export const MachineHeaders = z
  .object({
    'x-ek-fingerprint': z
      .string('is required')
      .transform((text) => text.trim().toLowerCase())
      .pipe(z.string().regex(/^[0-9a-f]{96}$/, 'must be 96 hex characters')),
    'x-nonce-id': plainText(128).optional(),
    'x-nonce-signature': z
      .string()
      .regex(/^[A-Za-z0-9+/]{1,4096}={0,2}$/, 'must be base64')
      .optional(),
  })
  .transform((headers) => ({
    ekFingerprint: headers['x-ek-fingerprint'],
    nonceId: headers['x-nonce-id'],
    nonceSignature: headers['x-nonce-signature'],
  }));
