/** Roles that an operator may assign. */
export const roles = ['controlplane', 'worker-infra', 'worker-app', 'generic', 'windows', 'linux'] as const;
export type Role = (typeof roles)[number];

export const machineStatuses = [
  'pending_approval',
  'registered',
  'attested',
  'locked',
  'revoked',
  'rejected',
] as const;
export type MachineStatus = (typeof machineStatuses)[number];

export const ekSources = ['cert', 'pub'] as const;
export type EkSource = (typeof ekSources)[number];

/** Hardware identity as the machine tells it; secondary to the EK. */
export interface HardwareIdentity {
  readonly hwUuid: string;
  readonly hwMac: string;
  readonly hwSerial: string;
  readonly hwProduct: string;
}

/** A machine as operators see it in a list. Times are ISO 8601 UTC. */
export interface Machine extends HardwareIdentity {
  readonly machineId: string;
  /** SHA-384 of the canonical EK material, 96 lower-case hex. */
  readonly ekFingerprint: string;
  readonly role: Role;
  readonly status: MachineStatus;
  readonly hostname: string | null;
  /** CIDR notation. */
  readonly assignedIp: string | null;
  readonly registeredAt: string | null;
  readonly attestedAt: string | null;
  readonly lockedAt: string | null;
  readonly revokedAt: string | null;
  readonly wipePending: boolean;
}

/** `aa:bb:cc:dd:ee:ff` for any usual spelling of a MAC address; other text is only trimmed and lower-cased. */
export const normaliseMac = (mac: string): string => {
  const bare = mac.trim().toLowerCase();
  const digits = bare.replace(/[:.-]/g, '');
  return /^[0-9a-f]{12}$/.test(digits) ? (digits.match(/../g) ?? []).join(':') : bare;
};
