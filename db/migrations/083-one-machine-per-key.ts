import type { Knex } from 'knex';

/**
 * One EK is one machine, whatever certificate it is shown in. Rows that already share a key keep it on the oldest, so
 * that the index can be made; the others are found by their fingerprint as before.
 */
export const up = (db: Knex) =>
  db.raw(`
    update machines m set ek_spki_sha384 = null
      where exists (select 1 from machines o where o.ek_spki_sha384 = m.ek_spki_sha384
        and (o.registered_at, o.machine_id) < (m.registered_at, m.machine_id));
    drop index machines_ek_spki_sha384;
    create unique index machines_ek_spki_sha384 on machines (ek_spki_sha384);
  `);
