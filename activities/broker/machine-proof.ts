import type { Knex } from 'knex';
import type { MachineRecord } from '../../db/broker/machines.js';
import { findByFingerprint } from '../../db/broker/machines.js';
import { AppError } from '../../domain/errors.js';
import type { AttestationKey } from '../crypto/ak.js';
import { verifyNonceSignature } from '../crypto/nonce-signature.js';

/** What a machine sends to show who it is. */
export interface MachineClaim {
  /** `X-EK-Fingerprint`, hex in canonical form. */
  readonly ekFingerprint: string;
  /** `X-Nonce-Id`. */
  readonly nonceId?: string | undefined;
  /** `X-Nonce-Signature`, base64. */
  readonly nonceSignature?: string | undefined;
}

export interface MachineProofDeps {
  readonly db: Knex;
  readonly redeemNonce: (nonceId: string) => Promise<Uint8Array>;
  /** The machine's activated attestation key. */
  readonly attestationKeyOf: (machineId: string) => Promise<AttestationKey | undefined>;
  /** Every read must be signed. */
  readonly highAssurance: boolean;
}

export type ProveMachine = (
  claim: MachineClaim,
  reading: { readonly inPlaintext: boolean },
) => Promise<MachineRecord>;

/**
 * The attested machine that a claim belongs to; one `forbidden` for every reason that is none of the caller's business.
 * The fingerprint is public, so once a machine has an AK, what travels in plaintext needs its signature over a nonce.
 */
export const createProveMachine =
  (deps: MachineProofDeps): ProveMachine =>
  async ({ ekFingerprint, nonceId, nonceSignature }, { inPlaintext }) => {
    const machine = await findByFingerprint(deps.db, [ekFingerprint]);
    const nonce = nonceId === undefined ? undefined : await deps.redeemNonce(nonceId);
    if (machine?.status !== 'attested') throw refused();
    const ak = await deps.attestationKeyOf(machine.machineId);
    if (ak !== undefined && nonce !== undefined && nonceSignature !== undefined) {
      const signature = Buffer.from(nonceSignature, 'base64');
      if (!(await verifyNonceSignature(ak, nonce, signature).catch(() => false))) throw refused();
      return machine;
    }
    const signed = nonceSignature !== undefined || inPlaintext;
    if (deps.highAssurance || (ak !== undefined && signed))
      throw new AppError(
        'forbidden',
        'a signature of the attestation key over an outstanding nonce is required (X-Nonce-Id, X-Nonce-Signature)',
        { code: 'nonce_signature_required' },
      );
    return machine;
  };

const refused = (): AppError => new AppError('forbidden', 'this machine may not read secrets');
