import type { Knex } from 'knex';

/**
 * Fans an event out: one message and one outbox row an enabled subscriber (or only for p_webhook_id, whatever it
 * subscribes to). A function, so that a statement that causes an event can publish it too.
 */
export const up = (db: Knex) =>
  db.raw(`
    create function publish_webhook_event(p_event_id uuid, p_event_type text, p_payload text, p_webhook_id uuid)
    returns setof uuid language sql volatile as $$
      with hooks as (
        select webhook_id from webhooks
        where enabled and (webhook_id = p_webhook_id
          or (p_webhook_id is null and p_event_type = any(string_to_array(events, ','))))
      ), event as (
        insert into webhook_events (event_id, event_type, payload)
        select p_event_id, p_event_type, p_payload where exists (select 1 from hooks)
        on conflict do nothing returning event_id
      ), messages as (
        insert into webhook_messages (event_id, webhook_id) select event_id, webhook_id from event, hooks
        returning message_id
      ), queued as (
        insert into outbox (topic, key, payload)
        select 'webhook.delivery', message_id, '{"firstAttempt": 1}' from messages
      )
      select message_id from messages
    $$;
  `);
