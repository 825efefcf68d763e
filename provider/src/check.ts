/** Checks of inputs before anything is called. A value that is not known yet (preview) is not judged. */
export interface CheckFailure {
  readonly property: string;
  readonly reason: string;
}

/** What stands for a value that the engine will know only later. */
export const UNKNOWN = '04da6b54-80e4-46f7-96ec-b56ff0331ba9';

export const isKnown = (value: unknown): boolean => value !== UNKNOWN;

export const roles = ['controlplane', 'worker-infra', 'worker-app'] as const;

type Inputs = Readonly<Record<string, unknown>>;
type Rule = (value: string) => string | undefined;

const isUrl: Rule = (value) =>
  URL.canParse(value) && /^https?:$/.test(new URL(value).protocol) ? undefined : 'must be an http(s) address';
const isRole: Rule = (value) =>
  (roles as readonly string[]).includes(value) ? undefined : `must be one of ${roles.join(', ')}`;
const isFingerprint: Rule = (value) =>
  /^(?:[0-9a-f]{64}|[0-9a-f]{96})$/i.test(value.trim())
    ? undefined
    : 'must be the SHA-384 of the EK as 96 hex characters (or the older SHA-256 form, 64)';
const isFilled: Rule = (value) => (value === '' ? 'must not be empty' : undefined);

export interface Rules {
  readonly required: Readonly<Record<string, Rule>>;
  readonly optional: Readonly<Record<string, Rule>>;
}

const connection = { endpoint: isUrl, token: isFilled };

export const machineRules: Rules = {
  required: { ...connection, ek_fingerprint: isFingerprint, ek_cert_pem: isFilled },
  optional: { desired_role: isRole },
};

export const approvalRules: Rules = {
  required: { ...connection, machine_id: isFilled, role: isRole },
  optional: { hostname: isFilled, assigned_ip: isFilled },
};

export const failuresOf = ({ required, optional }: Rules, inputs: Inputs): CheckFailure[] => {
  const judge = (property: string, rule: Rule, isRequired: boolean): CheckFailure[] => {
    const value = inputs[property];
    if (!isKnown(value)) return [];
    if (value === undefined || value === null) return isRequired ? [{ property, reason: 'is required' }] : [];
    const reason = typeof value === 'string' ? rule(value) : 'must be a string';
    return reason === undefined ? [] : [{ property, reason }];
  };
  return [
    ...Object.entries(required).flatMap(([property, rule]) => judge(property, rule, true)),
    ...Object.entries(optional).flatMap(([property, rule]) => judge(property, rule, false)),
  ];
};
