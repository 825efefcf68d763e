import type { Knex } from 'knex';
import { prepared } from '../connect.js';
import type { ChangeMessage } from './change-sql.js';
import { queueSql } from './change-sql.js';

/** First full fetch of a config: consumes the token. False when another fetch was first. */
export const consumeToken = async (
  db: Knex,
  sha256: string,
  messages: readonly ChangeMessage[],
): Promise<boolean> => {
  const rows = await prepared(
    db,
    'consume-token',
    `with consumed as (
       update config_tokens set consumed_at = now() where token_sha256 = ? and consumed_at is null
       returning machine_id
     ), changed as (select m.* from machines m join consumed using (machine_id))
     , queued as (${queueSql('changed')})
     select machine_id from consumed`,
    [sha256, JSON.stringify(messages)],
  );
  return rows.length > 0;
};

/** The first image of a machine; false when it has one. */
export const storeImage = async (
  db: Knex,
  machineId: string,
  isoUrl: string,
  messages: readonly ChangeMessage[],
): Promise<boolean> => {
  const rows = await prepared(
    db,
    'store-image',
    `with changed as (
       update machines set iso_url = ? where machine_id = ? and iso_url is null returning *
     ), queued as (${queueSql('changed')})
     select machine_id from changed`,
    [isoUrl, machineId, JSON.stringify(messages)],
  );
  return rows.length > 0;
};
