import type { Knex } from 'knex';
import { clearPolicyFailures, findTrust, recordQuote } from '../../db/broker/attestation-keys.js';
import type { AkRecord } from '../../db/broker/attestation-keys.js';
import { changeMachine } from '../../db/broker/changes.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import type { PcrPolicy } from '../../domain/broker/pcr-policy.js';
import type { QuoteAttest } from '../../domain/broker/tpm/attest.js';
import { compareCounters } from '../../domain/broker/tpm/counters.js';
import { AppError } from '../../domain/errors.js';
import type { Logger } from '../../domain/logger.js';
import type { AttestationKey } from '../crypto/ak.js';
import { decodeBase64 } from '../crypto/base64.js';
import { verifyNonceSignature } from '../crypto/nonce-signature.js';
import { judgePcrs } from '../crypto/pcr-policy.js';
import { verifyQuote } from '../crypto/quote.js';
import { loadAk } from './ak-cache.js';
import type { Evidence, JudgeEvidence } from './attest.js';

export interface EvidenceDeps {
  readonly db: Knex;
  readonly log: Logger;
  readonly requireNonce: boolean;
  readonly requireQuote: boolean;
  /** Breaches in a row that lock a machine; 0 = never. */
  readonly failureThreshold: number;
}

const refused = (why: string, code: string): AppError => new AppError('invalid', why, { code });
const mostBytes = 2048;

/**
 * Judges what a node sends beside its EK. With an activated AK whatever is sent is verified, and bad evidence is refused
 * even when none was required; without an AK it cannot be judged.
 */
export const createJudgeEvidence =
  (deps: EvidenceDeps): JudgeEvidence =>
  async (machine, evidence, nonce) => {
    const trust = machine?.hasTrust === true ? await findTrust(deps.db, machine.machineId) : undefined;
    const isTrusted = machine?.status === 'registered' || machine?.status === 'attested';
    const enforced = isTrusted && trust?.policy?.mode === 'enforce';
    if (machine === undefined || trust?.ak === undefined) {
      return withoutAk(evidence, deps.requireQuote || enforced);
    }
    const ak = loadAk(trust.ak);
    const isSigned = await judgeSignature(ak, evidence, nonce);
    const quote = await judgeQuote(trust.ak, ak, evidence, nonce);
    if (quote === undefined && (deps.requireQuote || enforced)) {
      throw refused('a quote over a fresh nonce is required', 'quote_required');
    }
    if (deps.requireNonce && !isSigned && quote === undefined) {
      throw refused('the nonce must be signed by the attestation key, or quoted', 'nonce_signature_required');
    }
    return quote === undefined
      ? null
      : observe(deps, machine, trust.ak, { ak, quote, evidence, policy: trust.policy });
  };

const withoutAk = (evidence: Evidence, isQuoteRequired: boolean): string | null => {
  if (isQuoteRequired) throw refused('a quote by an activated attestation key is required', 'ak_required');
  const given = [evidence.nonceSignature, evidence.pcrQuote, evidence.pcrSignature].some(
    (item) => item !== null,
  );
  return given ? 'The evidence was not judged: this machine has no attestation key.' : null;
};

/** Whether a signature was sent; a bad one throws. */
const judgeSignature = async (
  ak: AttestationKey,
  { nonceSignature }: Evidence,
  nonce: Buffer | null,
): Promise<boolean> => {
  if (nonceSignature === null) return false;
  if (nonce === null) throw refused('nonce_signature needs nonce_id', 'nonce_required');
  const signature = decodeBase64(nonceSignature, 'nonce_signature', mostBytes);
  if (await verifyNonceSignature(ak, nonce, signature)) return true;
  throw refused('nonce_signature is not by the attestation key of this machine', 'nonce_signature');
};

/** The verified quote; undefined when none was sent. Without a nonce it could be an old one, so it is refused. */
const judgeQuote = async (
  record: AkRecord,
  ak: AttestationKey,
  { pcrQuote, pcrSignature }: Evidence,
  nonce: Buffer | null,
): Promise<QuoteAttest | undefined> => {
  if (pcrQuote === null && pcrSignature === null) return undefined;
  if (pcrQuote === null || pcrSignature === null) {
    throw refused('pcr_quote and pcr_signature belong together', 'quote_malformed');
  }
  if (nonce === null)
    throw refused('a quote needs nonce_id: without a nonce it may be an old one', 'nonce_required');
  return verifyQuote({
    ak,
    quote: decodeBase64(pcrQuote, 'pcr_quote', mostBytes),
    signature: decodeBase64(pcrSignature, 'pcr_signature', mostBytes),
    nonce,
    signers: record.qualifiedSigner === null ? undefined : [record.qualifiedSigner],
  });
};

interface Judged {
  readonly ak: AttestationKey;
  readonly quote: QuoteAttest;
  readonly evidence: Evidence;
  readonly policy: PcrPolicy | undefined;
}

/** Records what the quote shows and judges its PCRs: only here, where the AK signed over a fresh nonce, do failures count. */
const observe = async (
  deps: EvidenceDeps,
  machine: MachineRecord,
  record: AkRecord,
  { ak, quote, evidence, policy }: Judged,
): Promise<string | null> => {
  const { clock: clockMs, resetCount, restartCount, safe } = quote.clockInfo;
  const counters = compareCounters(seenBefore(record), { clockMs, resetCount, restartCount });
  const verdict =
    policy === undefined
      ? ({ kept: true } as const)
      : judgePcrs(quote, ak.scheme.hash, policy, evidence.pcrValues ?? undefined);
  const breach = verdict.kept ? null : verdict.why;
  const failures = await recordQuote(deps.db, machine.machineId, record.akName, {
    ...{
      qualifiedSigner: quote.qualifiedSigner,
      clockMs,
      resetCount,
      restartCount,
      safe,
      ...counters,
      breach,
    },
    firmwareVersion: quote.firmwareVersion.toString(16).padStart(16, '0'),
  });
  if (counters.fell) {
    deps.log.warn({ machineId: machine.machineId }, 'TPM counters fell: cleared, or another TPM');
  }
  if (breach === null) return null;
  deps.log.warn({ machineId: machine.machineId, breach, failures, mode: policy?.mode }, 'PCR policy broken');
  if (policy?.mode !== 'enforce') return `PCR policy of role ${machine.role}: ${breach}.`;
  await lockAtThreshold(deps, machine, failures ?? 0);
  throw refused(`PCR policy of role ${machine.role}: ${breach}`, 'pcr_policy');
};

const seenBefore = ({ clockMs, resetCount, restartCount }: AkRecord) =>
  clockMs === null || resetCount === null || restartCount === null
    ? undefined
    : { clockMs: BigInt(clockMs), resetCount, restartCount };

const lockAtThreshold = async (
  { db, failureThreshold }: EvidenceDeps,
  { machineId }: MachineRecord,
  failures: number,
): Promise<void> => {
  if (failureThreshold === 0 || failures < failureThreshold) return;
  const reason = `${failures} attestations in a row broke the PCR policy`;
  await changeMachine(db, {
    trigger: 'lock',
    machineId,
    messages: [{ topic: 'machine-event', payload: { event: 'machine.locked', data: { reason } } }],
    act: {
      action: 'lock',
      operatorCn: 'SYSTEM',
      detail: `reason=${JSON.stringify(reason)}`,
      context: { requestId: null, sourceAddress: null, method: 'system' },
    },
  });
  await clearPolicyFailures(db, machineId);
};
