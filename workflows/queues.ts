/** Task queues: one per domain, so that a flood in one never starves another. */
export const queues = {
  broker: 'broker',
  webhooks: 'webhooks',
  iac: 'iac',
  deployments: 'deployments',
  vending: 'vending',
} as const;

export type Queue = (typeof queues)[keyof typeof queues];

/** Workflow code by task queue: the name of the bundle that the queue's workers load. */
const bundles: Readonly<Record<Queue, 'broker' | 'iac' | 'vending'>> = {
  broker: 'broker',
  webhooks: 'broker',
  iac: 'iac',
  deployments: 'iac',
  vending: 'vending',
};

export const bundleOfQueue = (queue: string): (typeof bundles)[Queue] | undefined =>
  Object.hasOwn(bundles, queue) ? bundles[queue as Queue] : undefined;
