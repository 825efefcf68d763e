import type { Attest, QuoteAttest } from '../../domain/broker/tpm/attest.js';
import { parseAttest } from '../../domain/broker/tpm/attest.js';
import { parseSignature } from '../../domain/broker/tpm/signature.js';
import { AppError } from '../../domain/errors.js';
import type { AttestationKey } from './ak.js';
import { constantTimeEqual } from './hash.js';
import { verifyByAk } from './verify.js';

export type QuoteFailure = 'quote_malformed' | 'quote_signature' | 'quote_nonce' | 'quote_signer';

const refused = (code: QuoteFailure, why: string, cause?: unknown): AppError =>
  new AppError('invalid', `quote refused: ${why}`, { code, cause });

export interface QuoteInput {
  readonly ak: AttestationKey;
  /** TPM2B_ATTEST (or bare TPMS_ATTEST) and TPMT_SIGNATURE. */
  readonly quote: Uint8Array;
  readonly signature: Uint8Array;
  /** The redeemed nonce; absent: freshness is not judged. */
  readonly nonce?: Uint8Array | undefined;
  /** Acceptable qualified signers: the AK under its EK, or what the first quote showed. Absent: any. */
  readonly signers?: readonly Uint8Array[] | undefined;
}

/**
 * Checks a quote in the order of its trust: structure, magic and type, signature, nonce, signer. The type matters: a
 * statement about a key carries a valid signature of the same AK. PCR values are judged apart, by `judgePcrs`.
 * Throws `invalid` with a `QuoteFailure` as code.
 */
export const verifyQuote = async (input: QuoteInput): Promise<QuoteAttest> => {
  const attest = await verifyAttest(input.ak, input.quote, input.signature);
  if (attest.kind !== 'quote') throw refused('quote_malformed', `it is a ${attest.kind} statement`);
  if (input.nonce !== undefined && !constantTimeEqual(attest.extraData, input.nonce)) {
    throw refused('quote_nonce', 'it was not made over this nonce');
  }
  const { signers } = input;
  if (signers !== undefined && !signers.some((signer) => constantTimeEqual(attest.qualifiedSigner, signer))) {
    throw refused('quote_signer', 'its signer is not the attestation key of this machine');
  }
  return attest;
};

/** Parses an attestation structure of any kind and checks that the AK signed it. */
export const verifyAttest = async (
  ak: AttestationKey,
  attestBytes: Uint8Array,
  signatureBytes: Uint8Array,
): Promise<Attest> => {
  const { attest, signature } = parseBoth(attestBytes, signatureBytes);
  if (!(await verifyByAk(ak, attest.signedBytes, signature))) {
    throw refused('quote_signature', 'the signature is not by the attestation key of this machine');
  }
  return attest;
};

const parseBoth = (attestBytes: Uint8Array, signatureBytes: Uint8Array) => {
  try {
    return { attest: parseAttest(attestBytes), signature: parseSignature(signatureBytes) };
  } catch (error) {
    throw refused('quote_malformed', error instanceof Error ? error.message : 'unreadable', error);
  }
};
