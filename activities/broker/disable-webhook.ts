import type { Knex } from 'knex';
import { appendAudit } from '../../db/broker/audit.js';
import { disableWebhook } from '../../db/broker/webhooks.js';
import type { Clock } from '../../domain/clock.js';
import { publishWebhookEvent } from './publish-event.js';

/** Switches a dead endpoint off, tells the other endpoints, and logs it as an act of the service; once. */
export const disableEndpoint = (
  { db, clock }: { readonly db: Knex; readonly clock: Clock },
  webhookId: string,
  reason: string,
): Promise<void> =>
  db.transaction(async (trx) => {
    if (!(await disableWebhook(trx, webhookId, reason))) return;
    const data = { webhook_id: webhookId, reason };
    await publishWebhookEvent(
      trx,
      { eventType: 'webhook.disabled', machineId: null, data },
      { now: clock.now() },
    );
    await appendAudit(trx, {
      action: 'webhook_update',
      operatorCn: 'SYSTEM',
      machineId: null,
      prevState: null,
      newState: null,
      detail: `webhook=${webhookId} disabled: ${reason}`,
      context: { requestId: null, sourceAddress: null, method: 'system' },
    });
  });
