/** Workflow ids are business keys: the id is the idempotency key, and what an SRE types into the UI. */
export const workflowIds = {
  /** One open dual-control window a machine. */
  approval: (machineId: string) => `approval:${machineId}`,
  revoke: (machineId: string) => `revoke:${machineId}`,
  image: (machineId: string) => `image:${machineId}`,
  delivery: (messageId: string) => `delivery:${messageId}`,
  /** At most one rewrap at a time. */
  rewrap: () => 'rewrap:secrets',
  deliveryBatch: (batchId: string) => `delivery-batch:${batchId}`,
  /** The end of an IaC update's lease. */
  lease: (updateId: string) => `lease:${updateId}`,
  purge: (stackId: string) => `purge:${stackId}`,
  deployment: (deploymentId: string) => `deployment:${deploymentId}`,
  /** A redelivered event joins the running run. */
  provision: (subscriptionId: string) => `provision:${subscriptionId}`,
} as const;
