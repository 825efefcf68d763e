import { AppError } from '../errors.js';

/** What somebody asks for: provision this subscription. Empty texts mean "not said". */
export interface ProvisioningRequest {
  readonly subscriptionId: string;
  readonly subscriptionName: string;
  readonly managementGroupId: string;
}

/** Ids go into URLs and workflow ids, so only a safe alphabet passes. */
export const SUBSCRIPTION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Letters, digits and `_ ( ) . -`, at most 90, no dot at the end (the management API's own rule). */
export const MANAGEMENT_GROUP_ID = /^[A-Za-z0-9_().-]{0,89}[A-Za-z0-9_()-]$/;

export const isSubscriptionId = (text: string): boolean => SUBSCRIPTION_ID.test(text);

export const isManagementGroupId = (text: string): boolean => MANAGEMENT_GROUP_ID.test(text);

/** The key of a subscription: GUIDs differ in case only on paper, so one subscription has one key. */
export const subscriptionKey = (subscriptionId: string): string => {
  if (!isSubscriptionId(subscriptionId)) throw new AppError('invalid', 'not a subscription id');
  return GUID.test(subscriptionId) ? subscriptionId.toLowerCase() : subscriptionId;
};

export const subscriptionScope = (subscriptionId: string): string => `/subscriptions/${subscriptionId}`;
