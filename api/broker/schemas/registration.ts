import { z } from 'zod';
import type { EkSource } from '../../../domain/broker/machine.js';
import { ekFields, hardwareFields, role } from './machine-fields.js';

const UNKNOWN = 'unknown';

interface HardwareBody {
  hw_uuid?: string | null | undefined;
  hw_mac?: string | null | undefined;
  hw_serial?: string | null | undefined;
  hw_product?: string | null | undefined;
}

export const hardwareOf = (body: HardwareBody) => ({
  hwUuid: body.hw_uuid ?? UNKNOWN,
  hwMac: body.hw_mac ?? UNKNOWN,
  hwSerial: body.hw_serial ?? UNKNOWN,
  hwProduct: body.hw_product ?? UNKNOWN,
});

interface EkBody {
  ek_fingerprint: string;
  ek_cert_pem: string;
  ek_source: EkSource;
  ek_chain?: string | null | undefined;
  ek_public?: string | null | undefined;
}

export const presentedEkOf = (body: EkBody) => ({
  ekFingerprint: body.ek_fingerprint,
  ekCertPem: body.ek_cert_pem,
  ekSource: body.ek_source,
  ekChain: body.ek_chain ?? null,
  ekPublic: body.ek_public ?? null,
});

export const RegisterRequest = z
  .object({ ...ekFields, ...hardwareFields, desired_role: role.nullish() })
  .transform((body) => ({
    ...presentedEkOf(body),
    desiredRole: body.desired_role ?? null,
    ...hardwareOf(body),
  }));
