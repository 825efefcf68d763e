import { LOCAL_CLOUD_VARIABLE } from './cloud.js';
import type { Stack } from './stack.js';

const BROKER_TRY = (url: string) =>
  `curl -s -H "Authorization: Bearer $(npm run -s token -- ann)" ${url}/api/v1/machines`;

const NEW_SUBSCRIPTION = (cloud: string, caFile: string) =>
  `curl -s --cacert ${caFile} -H 'content-type: application/json' -d '{"tags":{"svc-environment":"production","svc-budget":"500"}}' ${cloud}/control/subscriptions`;

const entry = (title: string, address: string, hint?: string): string =>
  `  ${title.padEnd(16)} ${address}${hint === undefined ? '' : `\n  ${''.padEnd(16)} try: ${hint}`}`;

/** The addresses, and a first command for each. */
export const summaryOf = ({ env, services, dataDir }: Stack): string => {
  const has = (label: string) => services.some((service) => service.label === label);
  const broker = env['SVC_SERVICE_URL'] ?? '';
  const vending = `http://127.0.0.1:${env['VENDING_PORT'] ?? '8000'}`;
  const cloud = env[LOCAL_CLOUD_VARIABLE];
  const lines = [
    ...(has('broker') ? [entry('broker', broker, BROKER_TRY(broker))] : []),
    ...(has('vending') ? [entry('vending', vending, `curl -s ${vending}/runs`)] : []),
    ...(cloud === undefined
      ? []
      : [entry('local cloud', cloud, NEW_SUBSCRIPTION(cloud, env['VENDING_CA_FILE'] ?? ''))]),
    entry('Temporal UI', env['TEMPORAL_UI_URL'] ?? '(yours)', 'open it in a browser'),
    entry('OpenID issuer', env['SVC_OIDC_ISSUER'] ?? '', 'npm run -s token -- ben'),
    entry('image factory', env['SVC_FACTORY_URL'] ?? ''),
    entry('PostgreSQL', env['DATABASE_URL'] ?? '', `psql ${env['DATABASE_URL'] ?? ''} -c '\\dt'`),
    entry('admin token', env['SVC_ADMIN_TOKEN'] ?? '(from its file)'),
    entry('IaC token', env['SVC_IAC_TOKEN'] ?? '(from its file)'),
    entry('data', dataDir),
  ];
  return `\nKeystead is running.\n\n${lines.join('\n')}\n\nCtrl-C stops it.\n`;
};
