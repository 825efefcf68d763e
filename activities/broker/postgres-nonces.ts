import type { Knex } from 'knex';
import { countOutstanding, issueNonce, redeemNonce } from '../../db/broker/nonces.js';
import { refusedNonce, shareOfOneSource, tooManyNonces } from '../../domain/broker/nonce.js';
import { drawNonce, nonceIdOf, SOURCE_RETRY_SECONDS } from './nonces.js';
import type { NonceStore } from './nonces.js';

/** Nonces of all gateways behind one address. Time is the database's. */
export const createPostgresNonces = (options: { db: Knex; capacity: number }): NonceStore => {
  const { capacity, db } = options;
  const share = shareOfOneSource(capacity);
  return {
    issue: async (source) => {
      const nonce = drawNonce();
      const nonceId = nonceIdOf(nonce);
      const issued = await issueNonce(db, { nonceId, nonce, source: source ?? null, capacity, share });
      switch (issued.verdict) {
        case 'issued':
          return { nonceId, nonce, expiresAt: new Date(issued.expires) };
        case 'all':
          throw tooManyNonces('all', Math.max(1, issued.retry_seconds ?? 1));
        case 'source':
          throw tooManyNonces('source', SOURCE_RETRY_SECONDS);
      }
    },
    redeem: async (nonceId) => {
      if (!/^[0-9a-f]{32}$/.test(nonceId)) throw refusedNonce('unknown');
      const redeemed = await redeemNonce(db, nonceId);
      if (redeemed.verdict !== 'redeemed') throw refusedNonce(redeemed.verdict);
      return redeemed.value;
    },
    outstanding: () => countOutstanding(db),
  };
};
