import { count, flag, list, optionalText, secret, text } from './env.js';
import type { Settings } from './env.js';

/** The IaC state backend, an extension of the broker (`SVC_IAC_`). Spread into `brokerSettings`. */
export const iacSettings = {
  SVC_IAC_ENABLED: flag(true, '`false` turns the IaC state backend off.'),
  SVC_IAC_TOKEN: secret(
    'Access token of the IaC CLI; required when the backend is enabled. `npm start` makes one up when it is not set.',
  ),
  SVC_IAC_ORG: text('keystead', 'Organization (and user name) that `/api/user` answers.'),
  SVC_IAC_KEEP_VERSIONS: count(50, 'State versions and previews kept a stack.', 1, 100_000),
  SVC_IAC_MAX_BODY_MB: count(256, 'Largest body and largest state, in MiB after decompression.', 1, 2_000),
  SVC_IAC_DELETED_STACK_DAYS: count(7, 'Days during which a removed stack can be restored.', 1, 3_650),
  SVC_IAC_CLI: text(
    'pulumi',
    'IaC CLI that deployments run: a name on the path of the workers, or an absolute path.',
  ),
  SVC_IAC_WORK_DIR: text(
    '',
    'Folder for the clones of running deployments; empty: one in the temporary folder.',
  ),
  SVC_IAC_DEPLOYMENT_TIMEOUT_SECONDS: count(3600, 'Longest run of a deployment.', 1, 86_400 * 7),
  SVC_IAC_DEPLOYMENT_GRACE_SECONDS: count(30, 'Time that a cancelled CLI has to write its state.', 1, 600),
  SVC_IAC_DEPLOYMENT_LOG_MB: count(50, 'Log of one deployment; beyond it is cut with a notice.', 1, 1_000),
  SVC_IAC_DEPLOYMENT_DISK_MB: count(2_048, 'Disk that one deployment may use.', 1, 1_000_000),
  SVC_IAC_DEPLOYMENT_CONCURRENCY: count(4, 'Deployments that one worker runs at a time.', 1, 1_000),
  SVC_IAC_ALLOW_FILE_SOURCES: flag(false, 'Deployments may clone `file://` repositories of the worker.'),
  SVC_IAC_SOURCE_CIDRS: list('', 'Private ranges in which git servers may be, e.g. `10.1.0.0/16`.'),
  SVC_IAC_SOURCE_CA_FILE: optionalText('PEM file with the certificates of private git servers.'),
};

export type IacConfig = Settings<typeof iacSettings>;
