import { softwareEk } from './ek.js';
import type { NodeIdentity } from './ek.js';
import type { BrokerWorld } from './world.js';

export interface AttestedNode<I extends NodeIdentity = NodeIdentity> {
  readonly ek: I;
  readonly machineId: string;
  /** `X-EK-Fingerprint`. */
  readonly proof: { readonly 'x-ek-fingerprint': string };
}

/** A machine that has registered, was approved and has attested. */
export const attestedNode = async <I extends NodeIdentity = NodeIdentity>(
  world: Pick<BrokerWorld, 'node' | 'admin'>,
  ek: I = softwareEk() as I,
): Promise<AttestedNode<I>> => {
  const { body } = await world.node.post('/api/v1/self-register', ek);
  const machineId = body.machine_id as string;
  await world.admin.post(`/api/v1/machines/${machineId}/approve`, { role: 'worker-app' });
  await world.node.post('/api/v1/attest', ek);
  return { ek, machineId, proof: { 'x-ek-fingerprint': ek.ek_fingerprint } };
};
