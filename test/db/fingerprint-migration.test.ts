import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrateUntil } from '../../db/migrate.js';
import { softwareEk } from '../support/ek.js';
import { testDatabase } from '../support/postgres.js';
import type { TestDatabase } from '../support/postgres.js';
import { fromBase64, tpmVectors } from '../support/tpm-vectors.js';

const hash = (algorithm: string, bytes: Buffer): string => createHash(algorithm).update(bytes).digest('hex');

describe('the move of fingerprints from SHA-256 to SHA-384', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase({ empty: true });
    await migrateUntil(database.db, '007-nonces');
  });
  afterAll(() => database.drop());

  const insert = async (fingerprint: string, material: string | null): Promise<string> => {
    const machineId = crypto.randomUUID();
    await database.db('machines').insert({
      ...{ machine_id: machineId, ek_fingerprint: fingerprint, ek_source: 'cert', ek_cert_pem: material },
      ...{ role: 'worker-app', status: 'attested' },
    });
    return machineId;
  };
  const after = (machineId: string) =>
    database.db('machines').first('ek_fingerprint', 'ek_fingerprint_sha384').where({ machine_id: machineId });

  it('fills the canonical value from DER, PEM and padded material, and skips rows without', async () => {
    const der = fromBase64(tpmVectors.eks.rsa.cert_der_b64);
    const pem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/(.{64})/g, '$1\n')}\n-----END CERTIFICATE-----\n`;
    const ecc = fromBase64(tpmVectors.eks.ecc.cert_der_b64);
    const spki = Buffer.from(softwareEk().ek_cert_pem, 'base64');
    const rows = {
      pem: await insert(hash('sha256', Buffer.from(pem)), Buffer.from(pem).toString('base64')),
      padded: await insert(hash('sha256', ecc), Buffer.concat([ecc, Buffer.alloc(700)]).toString('base64')),
      spki: await insert(hash('sha256', spki), spki.toString('base64')),
      without: await insert('ab'.repeat(32), null),
      long: await insert('cd'.repeat(48), null),
      broken: await insert('ef'.repeat(32), 'AAAA'),
    };
    await migrateUntil(database.db, '008-ek-fingerprint-sha384');
    for (const [row, bytes] of [
      [rows.pem, der],
      [rows.padded, ecc],
      [rows.spki, spki],
    ] as const) {
      expect(await after(row)).toEqual({
        ek_fingerprint: hash('sha384', bytes),
        ek_fingerprint_sha384: hash('sha384', bytes),
      });
    }
    expect(await after(rows.without)).toEqual({
      ek_fingerprint: 'ab'.repeat(32),
      ek_fingerprint_sha384: null,
    });
    expect(await after(rows.long)).toEqual({
      ek_fingerprint: 'cd'.repeat(48),
      ek_fingerprint_sha384: 'cd'.repeat(48),
    });
    expect(await after(rows.broken)).toEqual({
      ek_fingerprint: 'ef'.repeat(32),
      ek_fingerprint_sha384: null,
    });
  });
});
