import { count, custom } from './env.js';
import type { Settings } from './env.js';
import { z } from 'zod';

const postgresUrl = z
  .string('is required: a postgresql:// address')
  .refine((value) => /^postgres(ql)?:\/\//.test(value), 'must be a postgresql:// address');

/** PostgreSQL, shared by gateways and workers. */
export const databaseSettings = {
  DATABASE_URL: custom(
    postgresUrl,
    'Address of the PostgreSQL database. `npm start` runs an embedded one when this is not set.',
    '',
    true,
  ),
  DATABASE_POOL_MAX: count(16, 'Connections that one process keeps open at most.', 2, 1000),
};

export type DatabaseConfig = Settings<typeof databaseSettings>;
