import type { Knex } from 'knex';

/**
 * An event is kept once; a message is one event for one endpoint (its id is `webhook-id`, and the workflow's key);
 * a delivery is one attempt, written before the request leaves.
 */
export const up = (db: Knex) =>
  db.raw(`
    create table webhook_events (
      event_id uuid primary key,
      event_type text not null check (length(event_type) <= 64),
      payload text not null,
      created_at timestamptz not null default now()
    );
    create index webhook_events_created on webhook_events (created_at);

    create table webhook_messages (
      message_id uuid primary key default gen_random_uuid(),
      event_id uuid not null references webhook_events on delete cascade,
      webhook_id uuid not null references webhooks on delete cascade,
      state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'cancelled')),
      created_at timestamptz not null default now(),
      unique (event_id, webhook_id)
    );
    create index webhook_messages_webhook on webhook_messages (webhook_id, state, created_at);

    create table webhook_deliveries (
      delivery_id uuid primary key,
      message_id uuid not null references webhook_messages on delete cascade,
      webhook_id uuid not null references webhooks on delete cascade,
      event_type text not null,
      attempt integer not null,
      response_status integer,
      response_body text check (length(response_body) <= 4096),
      error text,
      delivered_at timestamptz not null default now(),
      duration_ms integer,
      unique (message_id, attempt)
    );
    create index webhook_deliveries_webhook on webhook_deliveries (webhook_id, delivered_at desc, delivery_id);
    create index webhook_deliveries_at on webhook_deliveries (delivered_at);
  `);
