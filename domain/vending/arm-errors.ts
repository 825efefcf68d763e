/** What an answer of the management API says; `status` undefined means that there was no answer. */
export interface CloudFault {
  readonly status: number | undefined;
  /** `error.code` of the body. */
  readonly code: string | undefined;
}

/** Transient by nature; the SDK's own list plus 409 codes that name another writer. */
const RETRYABLE_STATUS = new Set([408, 425, 429, 500, 502, 503, 504]);

/**
 * Codes that a fresh subscription, principal or role assignment answers until it is replicated:
 * minutes after creation the same call passes.
 */
const REPLICATION_CODES = new Set([
  'rbacaccessdenied',
  'authorizationfailed',
  'linkedauthorizationfailed',
  'principalnotfound',
  'subscriptionnotfound',
  'subscriptionnotregistered',
  'expiredauthenticationtoken',
]);

const CONFLICT_CODES = new Set([
  'anotheroperationinprogress',
  'concurrentrequest',
  'conflict',
  'resourcegroupbeingdeleted',
  'etagmismatch',
]);

/** Whether the same call may pass later. A wrong request, a wrong secret or a missing target may not. */
export const isRetryableFault = ({ status, code }: CloudFault): boolean => {
  if (status === undefined || RETRYABLE_STATUS.has(status)) return true;
  const name = code?.toLowerCase() ?? '';
  if (REPLICATION_CODES.has(name)) return true;
  return (status === 409 || status === 412) && CONFLICT_CODES.has(name);
};

export const roleAssignmentExists = ({ status, code }: CloudFault): boolean =>
  status === 409 && code === 'RoleAssignmentExists';
