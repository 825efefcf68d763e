import { readFileSync } from 'node:fs';
import type { Env } from '../../domain/config/env.js';
import { parseSettings } from '../../domain/config/env.js';
import type { StackConfig } from '../../domain/config/stack.js';
import { stackSettings } from '../../domain/config/stack.js';

export const stackConfig = (env: Env): StackConfig =>
  parseSettings(stackSettings, env, { readFile: (path) => readFileSync(path, 'utf8') });

/** The ports that embedded parts need, by the variable that moves them. */
export const portsInUse = (config: StackConfig): Readonly<Record<string, number>> => ({
  ...(config.DATABASE_URL === undefined ? { PGPORT: config.PGPORT } : {}),
  ...(config.TEMPORAL_ADDRESS === undefined
    ? { TEMPORAL_PORT: config.TEMPORAL_PORT, TEMPORAL_UI_PORT: config.TEMPORAL_UI_PORT }
    : {}),
  SVC_PORT: config.SVC_PORT,
  VENDING_PORT: config.VENDING_PORT,
});

export const HELP = `npm start [-- options]

Runs the whole system on this machine: PostgreSQL, Temporal with its web UI, a local OpenID issuer (operators ann and
ben), a local image factory, the gateways and the workers. Ctrl-C stops all of it; the data stays in .data/.

Options
  --demo     play the story of a node and two operators once everything runs
  --help     this text

Variables (also from a file .env)
${Object.entries(stackSettings)
  .map(
    ([name, { doc, fallback }]) =>
      `  ${name.padEnd(20)} ${doc}${fallback === '' ? '' : ` Default ${fallback}.`}`,
  )
  .join('\n')}

Every setting of the services works here too: docs/configuration.md.
`;
