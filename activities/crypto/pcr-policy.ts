import {
  acceptableCombinations,
  coversPolicy,
  isExactlyPolicy,
  policyPcrs,
} from '../../domain/broker/pcr-policy.js';
import type { PcrPolicy, PcrValues } from '../../domain/broker/pcr-policy.js';
import type { TpmHash } from '../../domain/broker/tpm/algorithms.js';
import { hashes } from '../../domain/broker/tpm/algorithms.js';
import type { QuoteAttest } from '../../domain/broker/tpm/attest.js';
import type { PcrSelection } from '../../domain/broker/tpm/pcr-selection.js';
import { constantTimeEqual, digest } from './hash.js';

export type PcrVerdict = { readonly kept: true } | { readonly kept: false; readonly why: string };

const broken = (why: string): PcrVerdict => ({ kept: false, why });
const kept: PcrVerdict = { kept: true };

/**
 * pcrDigest as the TPM computes it: with the hash of the *signature scheme* over the values in selection order, inside a
 * bank by ascending index. Undefined when a selected value is missing or has the wrong size.
 */
export const pcrDigest = (
  scheme: TpmHash,
  selections: readonly PcrSelection[],
  values: PcrValues,
): Buffer | undefined => {
  const parts: Buffer[] = [];
  for (const { bank, pcrs } of selections) {
    for (const pcr of pcrs) {
      const value = Buffer.from(values[bank]?.[String(pcr)] ?? '', 'hex');
      if (value.length !== hashes[bank].size) return undefined;
      parts.push(value);
    }
  }
  return digest(scheme, ...parts);
};

/**
 * Judges the registers of a verified quote. With the node's own list of values the list must hash to the quote's digest;
 * without it the quote must hold exactly the policy's PCRs, and some acceptable combination must hash to it.
 */
export const judgePcrs = (
  quote: QuoteAttest,
  scheme: TpmHash,
  policy: PcrPolicy,
  values?: PcrValues,
): PcrVerdict => {
  if (!coversPolicy(quote.selections, policy)) {
    return broken(`the quote does not cover ${policy.bank} PCRs ${policyPcrs(policy).join(', ')}`);
  }
  if (values !== undefined) return judgeValues(quote, scheme, policy, values);
  if (!isExactlyPolicy(quote.selections, policy)) {
    return broken('the quote covers more than the policy: send pcr_values with it');
  }
  const matches = acceptableCombinations(policy).some((combination) =>
    constantTimeEqual(
      digest(scheme, ...combination.map((value) => Buffer.from(value, 'hex'))),
      quote.pcrDigest,
    ),
  );
  return matches ? kept : broken('the PCR digest is none that the policy allows');
};

const judgeValues = (
  quote: QuoteAttest,
  scheme: TpmHash,
  policy: PcrPolicy,
  values: PcrValues,
): PcrVerdict => {
  const computed = pcrDigest(scheme, quote.selections, values);
  if (computed === undefined || !constantTimeEqual(computed, quote.pcrDigest)) {
    return broken('pcr_values do not hash to the digest of the quote');
  }
  const wrong = policyPcrs(policy).filter((pcr) => {
    const value = values[policy.bank]?.[String(pcr)]?.toLowerCase() ?? '';
    return !(policy.pcrs[String(pcr)] ?? []).includes(value);
  });
  return wrong.length === 0
    ? kept
    : broken(`PCR ${wrong.join(', ')} has a value that the policy does not allow`);
};
