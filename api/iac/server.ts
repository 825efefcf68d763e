import type { Knex } from 'knex';
import type { Middleware } from 'koa';
import { createIacUseCases } from '../../activities/iac/index.js';
import { iacDeps } from '../../activities/iac/deps.js';
import type { KeyRing } from '../../activities/crypto/key-ring.js';
import type { Clock } from '../../domain/clock.js';
import { ConfigError } from '../../domain/config/env.js';
import type { IacConfig } from '../../domain/config/iac.js';
import type { RequestState } from '../http/state.js';
import { createIacExtension } from './extension.js';

interface IacServerDeps {
  readonly config: IacConfig;
  readonly db: Knex;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
}

/** The state backend as one middleware, `undefined` when it is turned off. Throws ConfigError without a token. */
export const createIacServer = (deps: IacServerDeps): Middleware<RequestState> | undefined => {
  const { SVC_IAC_ENABLED: enabled, SVC_IAC_TOKEN: token, SVC_IAC_ORG: org } = deps.config;
  if (!enabled) return undefined;
  if (token === undefined) {
    throw new ConfigError(['SVC_IAC_TOKEN: is required while SVC_IAC_ENABLED is true']);
  }
  return createIacExtension({ useCases: createIacUseCases(iacDeps(deps.config, deps)), token, org });
};
