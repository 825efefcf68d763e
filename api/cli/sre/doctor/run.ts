import type { SreDeps } from '../context.js';
import { checkConfiguration } from './configuration.js';
import { checkDatabase } from './database.js';
import type { Finding } from './finding.js';
import { checkKeys } from './keys.js';
import { checkTemporal } from './temporal.js';

/** Every check, in the order in which a start needs them; one failing never hides the others. */
export const diagnose = async (deps: SreDeps): Promise<readonly Finding[]> => [
  ...checkConfiguration(deps),
  ...(await checkDatabase(deps)),
  ...(await checkTemporal(deps)),
  ...checkKeys(deps),
];
