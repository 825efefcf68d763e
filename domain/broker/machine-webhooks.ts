import type { PendingNodeEvent } from './events.js';
import type { WebhookEvent, WebhookEventType } from './webhook.js';

/** What webhooks hear of a node event; undefined when they do not. */
export const toWebhookEvent = ({ event, machine, meta = {} }: PendingNodeEvent): WebhookEvent | undefined => {
  const { machineId, ekFingerprint, role, status, hostname } = machine;
  const about = (eventType: WebhookEventType, data: WebhookEvent['data']): WebhookEvent => ({
    eventType,
    machineId,
    data,
  });
  switch (event) {
    case 'node.registered':
      return about('machine.registered', { ek_fingerprint: ekFingerprint, role, status });
    case 'node.provisioned':
      return about('machine.approved', {
        ek_fingerprint: ekFingerprint,
        hostname,
        approved_by: meta['approved_by'] ?? null,
      });
    case 'node.decommissioned':
      return about('machine.revoked', { reason: meta['reason'] ?? null, wipe: meta['wipe'] ?? false });
    case 'node.online':
    case 'node.configured':
    case 'node.image_created':
    case 'node.heartbeat_missed':
    case 'node.role_changed':
    case 'node.cert_renewed':
      return undefined;
  }
};
