import type { Knex } from 'knex';

/** The chain, and beside it (not hashed) where each act came from. */
export const up = (db: Knex) =>
  db.raw(`
    create table audit_log (
      id bigint primary key,
      timestamp timestamptz not null,
      operator_cn text not null,
      action text not null,
      machine_id text,
      prev_state text,
      new_state text,
      detail text,
      prev_hash text not null unique,
      entry_hash text not null unique
    );
    create index audit_log_machine on audit_log (machine_id, id);
    create table audit_context (
      audit_id bigint primary key references audit_log,
      request_id text,
      source_address text,
      method text
    );

    create function audit_log_is_append_only() returns trigger language plpgsql as $$
    begin
      raise exception 'audit_log is append-only' using errcode = 'insufficient_privilege';
    end $$;
    create trigger audit_log_append_only before update or delete or truncate on audit_log
      for each statement execute function audit_log_is_append_only();
    revoke update, delete, truncate on audit_log from public;
  `);
