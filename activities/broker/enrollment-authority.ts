import type { Knex } from 'knex';
import type { SvcConfig } from '../../domain/config/svc.js';
import type { Authority } from '../crypto/authority.js';
import { loadOrCreateAuthority } from '../crypto/authority-store.js';

const authorityLock = 7_301_080;

type Settings = Pick<SvcConfig, 'SVC_ENROLLMENT_CA_DIR' | 'SVC_ENROLLMENT_CA_PASSPHRASE' | 'SVC_SERVICE_URL'>;

/** Loads the enrollment CA, or makes it: of all processes that start together one does, the others wait and load. */
export const loadEnrollmentAuthority = (db: Knex, config: Settings): Promise<Authority> =>
  loadOrCreateAuthority(
    {
      dir: config.SVC_ENROLLMENT_CA_DIR,
      passphrase: config.SVC_ENROLLMENT_CA_PASSPHRASE,
      crlUrl: `${config.SVC_SERVICE_URL}/api/v1/ca/crl`,
    },
    (work) =>
      db.transaction(async (trx) => {
        await trx.raw('select pg_advisory_xact_lock(?)', [authorityLock]);
        return work();
      }),
    new Date(),
  );
