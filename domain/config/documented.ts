import type { SettingSpec } from './env.js';
import { attestationSettings } from './attestation.js';
import { brokerSettings } from './broker.js';
import { databaseSettings } from './database.js';
import { iacSettings } from './iac.js';
import { logSettings } from './log.js';
import { stackSettings } from './stack.js';
import { temporalSettings } from './temporal.js';
import { vaultSettings } from './vault.js';
import { vendingSettings } from './vending.js';
import { webhookSettings } from './webhook.js';

interface Group {
  readonly title: string;
  readonly spec: SettingSpec;
}

const services: readonly Group[] = [
  { title: 'Broker', spec: brokerSettings },
  { title: 'TPM trust and enrollment CA', spec: attestationSettings },
  { title: 'Keys', spec: vaultSettings },
  { title: 'Webhooks', spec: webhookSettings },
  { title: 'IaC state backend', spec: iacSettings },
  { title: 'Subscription vending', spec: vendingSettings },
  { title: 'Database', spec: databaseSettings },
  { title: 'Temporal', spec: temporalSettings },
  { title: 'Logs', spec: logSettings },
];

/** Some of what `npm start` reads are settings of the services, told there. */
const ownOf = (spec: SettingSpec): SettingSpec =>
  Object.fromEntries(Object.entries(spec).filter(([name]) => !services.some((group) => name in group.spec)));

/** Every group of settings, in the order of docs/configuration.md. */
export const documentedSettings: readonly Group[] = [
  ...services,
  { title: 'npm start', spec: ownOf(stackSettings) },
];

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const rows = (spec: SettingSpec): string =>
  Object.entries(spec)
    .map(([name, { fallback, doc, secret }]) => {
      const value = fallback === '' ? '' : `\`${cell(fallback)}\``;
      return `| \`${name}\` | ${value} | ${cell(doc)}${secret ? ` \`${name}_FILE\` names a file to read it from.` : ''} |`;
    })
    .join('\n');

/** The text of docs/configuration.md. */
export const configurationPage = (): string =>
  `${[
    '# Configuration',
    'Every setting is an environment variable; a `.env` file in the working directory is read too (the environment wins). ' +
      'An empty variable counts as unset. A value that does not parse, and an unknown `SVC_` or `VENDING_` name, stops the start; ' +
      'all problems are told at once. This page is generated from the parsers (`npm run docs`).',
    ...documentedSettings.map(
      ({ title, spec }) => `## ${title}\n\n| Variable | Default | Meaning |\n|---|---|---|\n${rows(spec)}`,
    ),
  ].join('\n\n')}\n`;
