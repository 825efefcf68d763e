import { z } from 'zod';
import { auditActions } from '../../../domain/broker/audit.js';
import { plainText } from '../../http/validate.js';

/** PostgreSQL knows no year 0. */
const moment = z.iso
  .datetime({ offset: true })
  .refine((text) => !text.startsWith('0000'), 'year out of range');

export const AuditQuery = z
  .object({
    page: z.coerce.number().int().min(1).max(100_000_000).default(1),
    per_page: z.coerce.number().int().min(1).max(200).default(50),
    machine_id: plainText(64).optional(),
    action: z.enum(auditActions).optional(),
    operator_cn: plainText(256).optional(),
    since: moment.optional(),
    until: moment.optional(),
  })
  .transform((query) => ({
    page: { page: query.page, perPage: query.per_page },
    filter: {
      machineId: query.machine_id,
      action: query.action,
      operatorCn: query.operator_cn,
      since: query.since,
      until: query.until,
    },
  }));

/** The head of a checkpoint that the caller kept: both values or none. */
export const VerifyQuery = z
  .object({
    size: z.coerce.number().int().min(1).optional(),
    root_hash: z
      .string()
      .regex(/^[0-9a-f]{64}$/, 'must be 64 hex characters')
      .optional(),
  })
  .refine(
    (query) => (query.size === undefined) === (query.root_hash === undefined),
    'size and root_hash go together',
  )
  .transform(({ size, root_hash: rootHash }) =>
    size === undefined || rootHash === undefined ? undefined : { size, rootHash },
  );
