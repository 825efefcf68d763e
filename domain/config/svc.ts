import type { Settings } from './env.js';
import { brokerSettings } from './broker.js';
import { vaultSettings } from './vault.js';

/** All `SVC_` settings: the gateway and the workers parse the same set, so an unknown `SVC_` name is a typo in both. */
export const svcSettings = { ...brokerSettings, ...vaultSettings };

export type SvcConfig = Settings<typeof svcSettings>;
