import type { Knex } from 'knex';

/** What a stack's deployments inherit; sealed whole, since it may hold credentials. */
export const up = (db: Knex) =>
  db.raw(`
    create table extension_iac_state_deployment_settings (
      stack_id uuid primary key references extension_iac_state_stacks on delete cascade,
      master_key_id text not null,
      nonce bytea not null,
      tag bytea not null,
      ciphertext bytea not null
    );
  `);
