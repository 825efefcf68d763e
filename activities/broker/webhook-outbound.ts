import type { WebhookConfig } from '../../domain/config/webhook.js';
import type { Outbound } from '../adapters/http.js';
import { createOutbound } from '../adapters/http.js';

/** Where webhooks may go: what the settings open, besides https to public addresses. */
export const createWebhookOutbound = (config: WebhookConfig): Outbound =>
  createOutbound({
    policy: { allowHttp: config.SVC_WEBHOOK_ALLOW_HTTP, allowedCidrs: config.SVC_WEBHOOK_ALLOWED_CIDRS },
  });
