import { SubscriptionClient } from '@azure/arm-resources-subscriptions';
import type { ArmAccess } from './client.js';
import { cloudCall } from './faults.js';

export interface CloudSubscription {
  readonly displayName: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** Reads name and tags. "No tags" is an empty map; "could not read" throws, never the one for the other. */
export const createSubscriptionReader = ({ credential, options }: ArmAccess) => {
  const client = new SubscriptionClient(credential, options);
  return async (subscriptionId: string, timeoutMs?: number): Promise<CloudSubscription> => {
    const found = await cloudCall(
      'read the subscription',
      (call) => client.subscriptions.get(subscriptionId, call),
      timeoutMs,
    );
    return { displayName: found.displayName ?? '', tags: found.tags ?? {} };
  };
};

export type ReadSubscription = ReturnType<typeof createSubscriptionReader>;
