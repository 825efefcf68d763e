import { z } from 'zod';
import { ekSources, roles } from '../../../domain/broker/machine.js';
import { plainText } from '../../http/validate.js';

/** Fields that several request bodies share; names as on the wire. */
export const hardwareFields = {
  hw_uuid: plainText(256).nullish(),
  hw_mac: plainText(64).nullish(),
  hw_serial: plainText(256).nullish(),
  hw_product: plainText(256).nullish(),
};

/** Base64 of EK material may have 64 KiB at most: an EK certificate has one or two. */
export const ekFields = {
  ek_fingerprint: z
    .string()
    .transform((value) => value.trim().toLowerCase())
    .pipe(z.string().regex(/^(?:[0-9a-f]{64}|[0-9a-f]{96})$/, 'must be 64 or 96 hex characters')),
  ek_cert_pem: z.string().min(1, 'EK material is missing').max(65_536),
  ek_source: z
    .enum(ekSources)
    .nullish()
    .transform((value) => value ?? 'cert'),
  /** PEM certificates between the EK's and its maker's root. */
  ek_chain: z.string().max(65_536).nullish(),
  /** Base64 of the EK's TPM2B_PUBLIC, for EKs off the standard templates. */
  ek_public: z.string().max(4096).nullish(),
};

export const role = z.enum(roles);

const octet = '(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)';
const ipv4Cidr = new RegExp(`^${octet}(?:\\.${octet}){3}/(?:3[0-2]|[12]?\\d)$`);

/** An address with prefix length, IPv4 or IPv6. */
export const cidr = z
  .string()
  .max(64)
  .refine(
    (value) => ipv4Cidr.test(value) || z.cidrv6().safeParse(value).success,
    'must be CIDR notation, e.g. 10.0.0.7/24',
  );

/** RFC 1123 host name, at most 253 characters. */
export const hostname = z
  .string()
  .min(1)
  .max(253)
  .refine(
    (value) => value.split('.').every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(label)),
    'must be a host name (letters, digits and hyphens)',
  );

export const reason = plainText(2000)
  .nullish()
  .transform((value) => value ?? null);
