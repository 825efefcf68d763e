import type { Knex } from 'knex';
import { listRevoked } from '../../db/broker/certificates.js';
import type { Clock } from '../../domain/clock.js';
import type { Authority } from '../crypto/authority.js';
import { issueCrl } from '../crypto/authority.js';

/** The revocation list as of now; DER. A revoked machine's certificates are on it from the moment of its revocation. */
export const createRevocationList =
  (db: Knex, authority: Authority, clock: Clock) => async (): Promise<Buffer> => {
    const revoked = await listRevoked(db);
    const entries = revoked.map(({ serial, revokedAt }) => ({ serial, revokedAt: new Date(revokedAt) }));
    return issueCrl(authority, entries, clock.now());
  };
