import type { Settings } from './env.js';
import { brokerSettings } from './broker.js';
import { iacSettings } from './iac.js';
import { vaultSettings } from './vault.js';

/** All `SVC_` settings: the gateway and the workers parse the same set, so an unknown `SVC_` name is a typo in both. */
export const svcSettings = { ...brokerSettings, ...vaultSettings, ...iacSettings };

export type SvcConfig = Settings<typeof svcSettings>;
