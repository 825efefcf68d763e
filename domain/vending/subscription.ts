import { AppError } from '../errors.js';

/** What somebody asks for: provision this subscription. Empty texts mean "not said". */
export interface ProvisioningRequest {
  readonly subscriptionId: string;
  readonly subscriptionName: string;
  readonly managementGroupId: string;
}

const IDENTIFIER = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const GROUP = /^[A-Za-z0-9_().-]{1,90}$/;

/** Ids go into URLs and workflow ids, so only a safe alphabet passes. */
export const isSubscriptionId = (text: string): boolean => IDENTIFIER.test(text);

/** Ids of management groups: letters, digits, `_ ( ) . -`, at most 90 (the management API's own rule). */
export const isManagementGroupId = (text: string): boolean => GROUP.test(text) && !text.endsWith('.');

/** The key of a subscription: GUIDs differ in case only on paper, so one subscription has one key. */
export const subscriptionKey = (subscriptionId: string): string => {
  if (!isSubscriptionId(subscriptionId)) throw new AppError('invalid', 'not a subscription id');
  return GUID.test(subscriptionId) ? subscriptionId.toLowerCase() : subscriptionId;
};

export const subscriptionScope = (subscriptionId: string): string => `/subscriptions/${subscriptionId}`;
