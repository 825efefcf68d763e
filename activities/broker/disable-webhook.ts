import type { Knex } from 'knex';
import { disableWebhook } from '../../db/broker/webhooks.js';
import type { Clock } from '../../domain/clock.js';
import { logAct, serviceActor } from './act-log.js';
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
    await logAct(trx, serviceActor, 'webhook_update', `webhook=${webhookId} disabled: ${reason}`);
  });
