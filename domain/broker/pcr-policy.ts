import type { TpmHash } from './tpm/algorithms.js';
import { hashes } from './tpm/algorithms.js';
import type { PcrSelection } from './tpm/pcr-selection.js';
import { invalidField } from '../errors.js';

/** What a role's machines must have booted: for every named PCR the acceptable values, in lower-case hex. */
export interface PcrPolicy {
  readonly bank: TpmHash;
  readonly pcrs: Readonly<Record<string, readonly string[]>>;
  /** `warn` records a breach, `enforce` refuses the attestation. */
  readonly mode: 'enforce' | 'warn';
}

/** PCR values by bank and number, as a node may send them beside its quote. */
export type PcrValues = Readonly<Partial<Record<TpmHash, Readonly<Record<string, string>>>>>;

/** Without supplied values every combination is hashed: this bounds the work of one attestation. */
export const maxCombinations = 256;
const maxPcr = 23;
/** PCR 16 and 23 can be reset by software at any time. */
const resettable = new Set([16, 23]);

export const policyPcrs = (policy: PcrPolicy): number[] =>
  Object.keys(policy.pcrs)
    .map(Number)
    .sort((a, b) => a - b);

/** Throws `invalid` on a register that proves nothing, a value of the wrong size, or too many combinations. */
export const requireUsablePolicy = (policy: PcrPolicy): void => {
  const entries = Object.entries(policy.pcrs);
  if (entries.length === 0) throw invalidField('pcrs', 'names no PCR');
  const form = new RegExp(`^[0-9a-f]{${hashes[policy.bank].size * 2}}$`);
  for (const [pcr, values] of entries) {
    const number = Number(pcr);
    if (!/^\d{1,2}$/.test(pcr) || String(number) !== pcr || number > maxPcr) {
      throw invalidField('pcrs', `${pcr} is not a PCR from 0 to ${maxPcr}`);
    }
    if (resettable.has(number)) throw invalidField('pcrs', `PCR ${pcr} can be reset by software`);
    if (values.length === 0 || !values.every((value) => form.test(value))) {
      throw invalidField('pcrs', `PCR ${pcr} needs ${policy.bank} values in lower-case hex`);
    }
  }
  const combinations = entries.reduce((product, [, values]) => product * values.length, 1);
  if (combinations > maxCombinations) {
    throw invalidField(
      'pcrs',
      `${combinations} combinations of values, at most ${maxCombinations} are judged`,
    );
  }
};

/** Whether a quote's selection holds every PCR of the policy. */
export const coversPolicy = (selections: readonly PcrSelection[], policy: PcrPolicy): boolean => {
  const quoted = selections.find(({ bank }) => bank === policy.bank)?.pcrs ?? [];
  return policyPcrs(policy).every((pcr) => quoted.includes(pcr));
};

/** Whether a quote's selection is the policy's PCRs and nothing else. */
export const isExactlyPolicy = (selections: readonly PcrSelection[], policy: PcrPolicy): boolean => {
  const [only, ...others] = selections.filter(({ pcrs }) => pcrs.length > 0);
  return others.length === 0 && only?.bank === policy.bank && only.pcrs.join() === policyPcrs(policy).join();
};

/** Every acceptable combination, each a list of hex values in ascending PCR order. */
export const acceptableCombinations = (policy: PcrPolicy): string[][] =>
  policyPcrs(policy).reduce<string[][]>(
    (lists, pcr) =>
      lists.flatMap((list) => (policy.pcrs[String(pcr)] ?? []).map((value) => [...list, value])),
    [[]],
  );

/** The one state that a policy describes; undefined when it leaves a choice. */
export const onlyState = (policy: PcrPolicy): Record<string, string> | undefined => {
  const [combination, ...others] = acceptableCombinations(policy);
  if (combination === undefined || others.length > 0) return undefined;
  return Object.fromEntries(policyPcrs(policy).map((pcr, index) => [String(pcr), combination[index] ?? '']));
};
