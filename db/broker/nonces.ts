import type { Knex } from 'knex';
import { NONCE_LIFETIME_MS, NONCE_MEMORY_MS } from '../../domain/broker/nonce.js';
import type { NonceRefusal } from '../../domain/broker/nonce.js';
import { prepared } from '../connect.js';

interface NonceInsert {
  readonly nonceId: string;
  readonly nonce: Buffer;
  readonly source: string | null;
  /** Outstanding nonces allowed in total, and of this source. */
  readonly capacity: number;
  readonly share: number;
}

type Issued =
  | { readonly verdict: 'issued'; readonly expires: string }
  | { readonly verdict: 'all'; readonly retry_seconds: number | null }
  | { readonly verdict: 'source' };

type Redeemed = { readonly verdict: 'redeemed'; readonly value: Buffer } | { readonly verdict: NonceRefusal };

const lifetime = `${NONCE_LIFETIME_MS} milliseconds`;
const memory = `${NONCE_MEMORY_MS} milliseconds`;

/** Stores a nonce unless one of the limits is reached. */
export const issueNonce = async (db: Knex, nonce: NonceInsert): Promise<Issued> => {
  const [row] = await prepared<Issued>(
    db,
    'issue_nonce',
    'select verdict, expires, retry_seconds from issue_nonce(?, ?, ?, ?, ?, ?::interval, ?::interval)',
    [nonce.nonceId, nonce.nonce, nonce.source, nonce.capacity, nonce.share, lifetime, memory],
  );
  if (row === undefined) throw new Error('issue_nonce gave no row');
  return row;
};

/** Spends a nonce: of concurrent calls exactly one gets the value. */
export const redeemNonce = async (db: Knex, nonceId: string): Promise<Redeemed> => {
  const [row] = await prepared<Redeemed>(db, 'redeem_nonce', 'select verdict, value from redeem_nonce(?)', [
    nonceId,
  ]);
  if (row === undefined) throw new Error('redeem_nonce gave no row');
  return row;
};

/** Nonces that could be redeemed now. */
export const countOutstanding = async (db: Knex): Promise<number> => {
  const rows = (await db('nonces')
    .whereNull('used_at')
    .where('expires_at', '>', db.fn.now())
    .count({ total: '*' })) as unknown as { total: number }[];
  return rows[0]?.total ?? 0;
};
