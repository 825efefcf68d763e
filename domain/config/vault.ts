import { z } from 'zod';
import { custom } from './env.js';

const HEX_KEY = /^[0-9a-f]{64}$/i;
const hexKey = z.string().regex(HEX_KEY, 'must be 64 hex characters (32 bytes)');

const hexKeys = z
  .string()
  .default('')
  .transform((value) => value.split(',').flatMap((item) => item.trim() || []))
  .pipe(z.array(z.string().regex(HEX_KEY, 'every key must be 64 hex characters (32 bytes)')));

/** Service keys: they seal machine and shared secrets, webhook signing secrets and config tokens. Spread into `brokerSettings`. */
export const vaultSettings = {
  SVC_SHARED_SECRET_MASTER_KEY: custom(
    hexKey.optional(),
    'Service key, 32 bytes in hex. Without it and without a passphrase a random key is drawn at start, and sealed values die with the process.',
    '',
    true,
  ),
  SVC_SHARED_SECRET_PASSPHRASE: custom(
    z.string().min(1).optional(),
    'Used when no master key is set: the service key is its SHA-256.',
    '',
    true,
  ),
  SVC_SHARED_SECRET_PREVIOUS_KEYS: custom(
    hexKeys,
    'Retired service keys, comma-separated hex: still readable until `rewrap` has run. A retired passphrase is given as the hex of its SHA-256.',
    '',
    true,
  ),
} as const;
