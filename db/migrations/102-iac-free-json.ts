import type { Knex } from 'knex';

/** What users may write freely is kept as `json`: `jsonb` refuses the escapes \\u0000 and lone surrogates. */
export const up = (db: Knex) =>
  db.raw(`
    alter table extension_iac_state_stacks alter column config type json;
    alter table extension_iac_state_updates
      alter column config type json, alter column resource_changes type json;
  `);
