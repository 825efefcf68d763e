import { readFileSync } from 'node:fs';
import { config as loadDotenv } from 'dotenv';
import { connectDatabase } from '../../db/connect.js';
import { pendingMigrations } from '../../db/migrate.js';
import { outboxLag } from '../../db/outbox.js';
import { runSre } from './sre/program.js';

loadDotenv({ quiet: true });

process.exitCode = await runSre(process.argv.slice(2), {
  env: process.env,
  out: (text) => process.stdout.write(`${text}\n`),
  err: (text) => process.stderr.write(`${text}\n`),
  readFile: (path) => readFileSync(path, 'utf8'),
  now: Date.now,
  // loaded on demand: the worker's native core takes half a second
  workflowBundle: async (name) => (await import('../../workers/run.js')).builtBundle(name),
  database: {
    connect: (config) => connectDatabase({ ...config, DATABASE_POOL_MAX: 2 }, 'keystead-sre'),
    pendingMigrations,
    outboxLag,
  },
});
