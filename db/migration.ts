import type { Knex } from 'knex';

/** One change of the schema: forward only, one small file each; the new code must run on the old schema's rows. */
export interface Migration {
  readonly name: string;
  readonly up: (db: Knex) => PromiseLike<unknown>;
}
