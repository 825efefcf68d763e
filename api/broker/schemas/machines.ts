import { z } from 'zod';
import { machineStatuses } from '../../../domain/broker/machine.js';
import { cidr, hostname, reason, role } from './machine-fields.js';

export const ApproveRequest = z
  .object({ role, hostname: hostname.nullish(), assigned_ip: cidr.nullish() })
  .transform((body) => ({
    role: body.role,
    hostname: body.hostname ?? null,
    assignedIp: body.assigned_ip ?? null,
  }));

export const RevokeRequest = z.object({ wipe: z.boolean().default(false), reason });

export const ReasonRequest = z.object({ reason });

const MOST_MACHINES = 10_000;

/** The list is one array as specified; beyond 10,000 machines it comes in pages. */
export const MachinesQuery = z
  .object({
    status: z.enum(machineStatuses).optional(),
    role: role.optional(),
    page: z.coerce.number().int().min(1).max(1_000_000).default(1),
    per_page: z.coerce.number().int().min(1).max(MOST_MACHINES).default(MOST_MACHINES),
  })
  .transform(({ per_page: perPage, ...query }) => ({ ...query, perPage }));
