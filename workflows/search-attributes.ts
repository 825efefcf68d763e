import { defineSearchAttributeKey } from '@temporalio/common';

/** Search attributes of our workflows; registered in the namespace at start when missing. */
export const searchAttributes = {
  machineId: defineSearchAttributeKey('KeysteadMachineId', 'KEYWORD'),
  stack: defineSearchAttributeKey('KeysteadStack', 'KEYWORD'),
  subscriptionId: defineSearchAttributeKey('KeysteadSubscriptionId', 'KEYWORD'),
  environment: defineSearchAttributeKey('KeysteadEnvironment', 'KEYWORD'),
  outcome: defineSearchAttributeKey('KeysteadOutcome', 'KEYWORD'),
} as const;
