import type { Client } from '@temporalio/client';
import type { Knex } from 'knex';
import type { JudgeEvidence } from '../../activities/broker/attest.js';
import type { ConfigTokens } from '../../activities/broker/config-tokens.js';
import type { CheckOwnCertificate } from '../../activities/broker/certificate-check.js';
import type { EkReader } from '../../activities/broker/ek-reader.js';
import type { DeliverConfigDeps } from '../../activities/broker/deliver-config.js';
import type { NonceStore } from '../../activities/broker/nonces.js';
import type { Authority } from '../../activities/crypto/authority.js';
import type { KeyRing } from '../../activities/crypto/key-ring.js';
import type { Clock } from '../../domain/clock.js';
import type { SvcConfig } from '../../domain/config/svc.js';
import type { Logger } from '../../domain/logger.js';
import type { RequireOperator } from '../auth/actor.js';
import type { BrokerMetrics } from './compose-metrics.js';
import type { ExtensionInfo } from './routes/extensions.js';

/** The parts that the routes of the broker gateway share. */
export interface BrokerParts {
  readonly config: SvcConfig;
  readonly db: Knex;
  readonly temporal: Client;
  readonly log: Logger;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  readonly tokens: ConfigTokens;
  readonly nonces: NonceStore;
  readonly metrics: BrokerMetrics;
  readonly operator: RequireOperator;
  readonly judgeEvidence: JudgeEvidence;
  readonly readEk: EkReader;
  readonly authority: Authority;
  readonly checkOwnCertificate: CheckOwnCertificate;
  readonly imageFor: (configUrl: string) => Promise<string>;
  readonly renderConfig: DeliverConfigDeps['renderConfig'];
  readonly pendingConfig: string;
  readonly extensions: readonly ExtensionInfo[];
}
