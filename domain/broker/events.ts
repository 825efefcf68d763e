import type { Machine } from './machine.js';

export const nodeEvents = [
  'node.registered',
  'node.online',
  'node.provisioned',
  'node.configured',
  'node.image_created',
  'node.decommissioned',
  'node.heartbeat_missed',
  'node.role_changed',
  'node.cert_renewed',
] as const;
export type NodeEventName = (typeof nodeEvents)[number];

/** What handlers of the internal bus get. */
export interface NodeEvent {
  readonly event: NodeEventName;
  /** SHA-384 hex. */
  readonly ek_fingerprint: string;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  readonly node: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** The part of a machine that an event's outbox row keeps: no token, no key material. */
export type EventMachine = Pick<
  Machine,
  | 'machineId'
  | 'ekFingerprint'
  | 'role'
  | 'status'
  | 'hostname'
  | 'attestedAt'
  | 'hwUuid'
  | 'hwMac'
  | 'hwSerial'
  | 'hwProduct'
> & { readonly isoUrl: string | null };

/** An event as it waits in the outbox; the config URL holds a token, so only the token's hash waits with it. */
export interface PendingNodeEvent {
  readonly event: NodeEventName;
  readonly machine: EventMachine;
  readonly tokenSha256?: string;
  readonly meta?: Readonly<Record<string, unknown>>;
}

const nodeKeys = (pending: PendingNodeEvent, configUrl: string | null): Record<string, unknown> => {
  const { machine } = pending;
  const base = { machine_id: machine.machineId, role: machine.role };
  switch (pending.event) {
    case 'node.registered':
      return {
        ...base,
        status: machine.status,
        config_url: configUrl,
        iso_url: machine.isoUrl,
        hw_uuid: machine.hwUuid,
        hw_mac: machine.hwMac,
        hw_serial: machine.hwSerial,
        hw_product: machine.hwProduct,
      };
    case 'node.online':
      return { ...base, hostname: machine.hostname, attested_at: machine.attestedAt, config_url: configUrl };
    case 'node.provisioned':
      return { ...base, hostname: machine.hostname, config_url: configUrl, iso_url: machine.isoUrl };
    case 'node.image_created':
      return { ...base, hostname: machine.hostname, iso_url: machine.isoUrl };
    case 'node.decommissioned':
    case 'node.configured':
    case 'node.heartbeat_missed':
    case 'node.role_changed':
    case 'node.cert_renewed':
      return { ...base, hostname: machine.hostname };
  }
};

/** The event that handlers see. `configUrl` is null when the machine has no readable token. */
export const toNodeEvent = (
  pending: PendingNodeEvent,
  timestamp: string,
  configUrl: string | null,
): NodeEvent => ({
  event: pending.event,
  ek_fingerprint: pending.machine.ekFingerprint,
  timestamp,
  node: nodeKeys(pending, configUrl),
  meta: pending.meta ?? {},
});
