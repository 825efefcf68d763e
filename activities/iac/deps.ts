import type { Knex } from 'knex';
import type { Clock } from '../../domain/clock.js';
import type { IacConfig } from '../../domain/config/iac.js';
import type { SourcePolicy } from '../adapters/git.js';
import type { KeyRing } from '../crypto/key-ring.js';

export interface IacDeps {
  readonly db: Knex;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  /** Organization, and the name of whoever holds the token. */
  readonly org: string;
  readonly keepVersions: number;
  /** Largest body and largest state, in bytes of text. */
  readonly maxStateBytes: number;
  readonly deletedStackDays: number;
  /** Where deployments may clone from. */
  readonly sources: SourcePolicy & { readonly allowedCidrs: readonly string[] };
}

const MEBIBYTE = 1_048_576;

export const iacDeps = (config: IacConfig, parts: Pick<IacDeps, 'db' | 'clock' | 'keyRing'>): IacDeps => ({
  ...parts,
  org: config.SVC_IAC_ORG,
  keepVersions: config.SVC_IAC_KEEP_VERSIONS,
  maxStateBytes: config.SVC_IAC_MAX_BODY_MB * MEBIBYTE,
  deletedStackDays: config.SVC_IAC_DELETED_STACK_DAYS,
  sources: {
    allowFile: config.SVC_IAC_ALLOW_FILE_SOURCES,
    allowedCidrs: config.SVC_IAC_SOURCE_CIDRS,
    caFile: config.SVC_IAC_SOURCE_CA_FILE,
  },
});

/** Who calls: told by the token and by the CLI's own headers. */
export interface Caller {
  readonly author: string;
  /** `v3.259.0`, or empty for callers that do not say. */
  readonly cliVersion: string;
}
