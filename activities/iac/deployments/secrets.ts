import type { SealedSecrets } from '../../../db/iac/deployments.js';
import type { DeploymentSecrets } from '../../../domain/iac/deployments/deployment.js';
import type { KeyRing, KeyScope } from '../../crypto/key-ring.js';

const scopeOf = (id: string): KeyScope => ({ purpose: 'svc/iac-deployment/v1', context: [id] });

/** Environment and credentials at rest, bound to their row. */
export const sealSecrets = (ring: KeyRing, id: string, secrets: DeploymentSecrets): SealedSecrets =>
  ring.seal(scopeOf(id), id, Buffer.from(JSON.stringify(secrets)));

/** Throws `unavailable` when the service key that sealed them is not configured here. */
export const openSecrets = (ring: KeyRing, id: string, sealed: SealedSecrets): DeploymentSecrets =>
  JSON.parse(ring.open(scopeOf(id), id, sealed).toString()) as DeploymentSecrets;
