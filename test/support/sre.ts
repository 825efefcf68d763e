import { readFileSync } from 'node:fs';
import type { SreDeps } from '../../api/cli/sre/context.js';
import { runSre } from '../../api/cli/sre/program.js';
import { connectDatabase } from '../../db/connect.js';
import { pendingMigrations } from '../../db/migrate.js';
import { outboxLag } from '../../db/outbox.js';
import { testBundle } from './temporal.js';

export interface SreRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

type Overrides = Partial<Pick<SreDeps, 'workflowBundle' | 'now'>>;

/** Runs `sre` as the command line does, in this process. */
export const sre = async (
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  overrides: Overrides = {},
): Promise<SreRun> => {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runSre(args, {
    env,
    out: (text) => out.push(text),
    err: (text) => err.push(text),
    readFile: (path) => readFileSync(path, 'utf8'),
    now: Date.now,
    workflowBundle: (name) => Promise.resolve(testBundle(name as Parameters<typeof testBundle>[0])),
    database: {
      connect: (config) => connectDatabase({ ...config, DATABASE_POOL_MAX: 2 }, 'sre-test'),
      pendingMigrations,
      outboxLag,
    },
    ...overrides,
  });
  return { code, out: out.join('\n'), err: err.join('\n') };
};
