import type { KeyObject } from 'node:crypto';
import { requireWrappingKey } from '../../domain/broker/tpm/key-rules.js';
import { parsePublicArea } from '../../domain/broker/tpm/public-area.js';
import { AppError } from '../../domain/errors.js';
import type { AttestationKey } from './ak.js';
import { constantTimeEqual } from './hash.js';
import { verifyAttest } from './quote.js';
import { spkiOf, publicKeyOf } from './tpm-key.js';
import { tpmName } from './tpm-name.js';

export interface WrappingKeyEvidence {
  /** TPM2B_PUBLIC of the wrapping key. */
  readonly wrappingKeyPublic: Uint8Array;
  /** TPM2B_ATTEST by `tpm2_certify` or `tpm2_certifycreation`, and its TPMT_SIGNATURE by the AK. */
  readonly certifyAttest: Uint8Array;
  readonly certifySignature: Uint8Array;
}

const refused = (why: string): AppError =>
  new AppError('invalid', `wrapping key refused: ${why}`, { code: 'wrapping_key_not_certified' });

/**
 * Checks that the machine's AK certified `claimed` as a key of the same TPM that only decrypts (TPM 2.0 part 3, 18.2 and
 * 18.3). Throws `invalid` with the reason.
 */
export const verifyWrappingKey = async (
  ak: AttestationKey,
  claimed: KeyObject,
  evidence: WrappingKeyEvidence,
): Promise<void> => {
  const area = parsePublicArea(evidence.wrappingKeyPublic);
  requireWrappingKey(area);
  const attest = await verifyAttest(ak, evidence.certifyAttest, evidence.certifySignature);
  if (attest.kind === 'quote') throw refused('the statement is a quote');
  const attested = attest.kind === 'certify' ? attest.name : attest.objectName;
  if (!constantTimeEqual(attested, tpmName(area))) throw refused('the statement is about another key');
  if (!spkiOf(publicKeyOf(area.key)).equals(spkiOf(claimed)))
    throw refused('wrapping_key_pem is another key');
};
