import type { Knex } from 'knex';

/**
 * First votes of dual control; a machine has one open vote at most. `vote_id` and `completed_by` name the requests that
 * cast the two votes, so that a repeated activity finds what it did.
 */
export const up = (db: Knex) =>
  db.raw(`
    create table approval_requests (
      id bigint generated always as identity primary key,
      machine_id uuid not null references machines on delete cascade,
      operator_cn text not null,
      identity text not null,
      role text not null,
      hostname text,
      assigned_ip text,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      consumed boolean not null default false,
      vote_id uuid not null unique,
      completed_by uuid unique,
      closed_at timestamptz
    );
    create index approval_requests_machine on approval_requests (machine_id);
    create unique index approval_requests_one_open on approval_requests (machine_id) where closed_at is null;
  `);
