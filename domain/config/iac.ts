import { count, flag, secret, text } from './env.js';
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
};

export type IacConfig = Settings<typeof iacSettings>;
