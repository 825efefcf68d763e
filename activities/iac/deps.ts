import type { Knex } from 'knex';
import type { Clock } from '../../domain/clock.js';
import type { KeyRing } from '../crypto/key-ring.js';

export interface IacDeps {
  readonly db: Knex;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  /** Organization, and the name of whoever holds the token. */
  readonly org: string;
  readonly keepVersions: number;
  /** Largest state, in bytes of text. */
  readonly maxStateBytes: number;
  readonly deletedStackDays: number;
}

/** Who calls: told by the token and by the CLI's own headers. */
export interface Caller {
  readonly author: string;
  /** `v3.259.0`, or empty for callers that do not say. */
  readonly cliVersion: string;
}
