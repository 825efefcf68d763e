/** Task queues: one per domain, so that a flood in one never starves another. */
export const queues = {
  broker: 'broker',
  webhooks: 'webhooks',
  iac: 'iac',
  deployments: 'deployments',
  vending: 'vending',
} as const;

export type Queue = (typeof queues)[keyof typeof queues];
