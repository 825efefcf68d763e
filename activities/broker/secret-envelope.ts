import type { Knex } from 'knex';
import { findEkMaterial } from '../../db/broker/machines.js';
import type { Envelope } from '../../domain/broker/envelope.js';
import { isEnvelopeFormat, possibleFormats } from '../../domain/broker/envelope.js';
import type { AttestationKey } from '../crypto/ak.js';
import { loadStoredEk } from '../crypto/ek.js';
import { formatImpossible, sealEnvelope } from '../crypto/envelope.js';

export type SealForMachine = (
  machineId: string,
  /** Undefined: the import format where the EK can, else the first that it can. */
  format: string | undefined,
  plaintext: Uint8Array,
) => Promise<Envelope>;

/** Seals a value so that only the machine's TPM opens it. Throws `not_acceptable` naming the formats that are possible. */
export const createSealForMachine =
  (db: Knex, attestationKeyOf: (machineId: string) => Promise<AttestationKey | undefined>): SealForMachine =>
  async (machineId, format, plaintext) => {
    const stored = await findEkMaterial(db, machineId);
    if (stored === undefined) throw formatImpossible(format ?? 'any', []);
    const ek = loadStoredEk(stored.ekCertPem, stored.ekSource);
    const akName = (await attestationKeyOf(machineId))?.name;
    const possible = possibleFormats(ek, akName !== undefined);
    const preferred = possible.find((name) => name === 'ek-import-aes256gcm-v1') ?? possible[0];
    const chosen = format ?? preferred;
    if (chosen === undefined || !isEnvelopeFormat(chosen)) throw formatImpossible(format ?? 'any', possible);
    return sealEnvelope({ format: chosen, machineId, ek, akName, plaintext });
  };
