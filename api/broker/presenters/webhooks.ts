import type { DeliveryDetail, DeliveryRecord } from '../../../db/broker/deliveries.js';
import type { WebhookRecord } from '../../../db/broker/webhooks.js';

/** The signing secret is never shown. */
export const presentWebhook = (w: WebhookRecord) => ({
  webhook_id: w.webhookId,
  url: w.url,
  events: w.events.split(','),
  enabled: w.enabled,
  disabled_reason: w.disabledReason,
  rate_limit_per_minute: w.rateLimitPerMinute,
  created_at: w.createdAt,
  created_by: w.createdBy,
  last_triggered_at: w.lastTriggeredAt,
  trigger_count: w.triggerCount,
  failure_count: w.failureCount,
});

export const presentDelivery = (d: DeliveryRecord) => ({
  delivery_id: d.deliveryId,
  webhook_id: d.webhookId,
  message_id: d.messageId,
  attempt: d.attempt,
  event_type: d.eventType,
  response_status: d.responseStatus,
  error: d.error,
  delivered_at: d.deliveredAt,
  duration_ms: d.durationMs,
});

export const presentDeliveryDetail = (d: DeliveryDetail) => ({
  ...presentDelivery(d),
  state: d.state,
  payload: d.payload,
  response_body: d.responseBody,
});
