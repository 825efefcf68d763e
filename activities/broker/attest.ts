import type { Knex } from 'knex';
import { changeMachine } from '../../db/broker/changes.js';
import { createMachine, fillIdentity, replaceToken } from '../../db/broker/registrations.js';
import { recordWipeTold } from '../../db/broker/wipes.js';
import { findByFingerprint, findMachine } from '../../db/broker/machines.js';
import type { FoundMachine, MachineRecord } from '../../db/broker/machines.js';
import type { AttestAction } from '../../domain/broker/lifecycle.js';
import type { PcrValues } from '../../domain/broker/pcr-policy.js';
import { attestAction } from '../../domain/broker/lifecycle.js';
import type { HardwareIdentity } from '../../domain/broker/machine.js';
import { AppError, invalidField } from '../../domain/errors.js';
import { storedEk } from '../crypto/ek.js';
import type { ConfigTokens } from './config-tokens.js';
import type { EkReader, PresentedEk, ReadEk } from './ek-reader.js';
import { newMachine } from './register.js';

/** What a node may send to prove that it is alive and itself; all base64. */
export interface Evidence {
  readonly nonceSignature: string | null;
  readonly pcrQuote: string | null;
  readonly pcrSignature: string | null;
  /** The node's own list of the quoted registers, which a policy over some of them needs. */
  readonly pcrValues: PcrValues | null;
}

export interface Attestation extends PresentedEk, HardwareIdentity, Evidence {
  readonly nonceId: string | null;
}

export interface Attested {
  readonly machine: MachineRecord;
  readonly action: AttestAction;
  readonly configToken: string | null;
  readonly configUrl: string | null;
  /** What was done with the evidence, for `message`; null when there is nothing to say. */
  readonly note: string | null;
}

/**
 * Judges the evidence of an attestation against the machine's AK; throws on bad evidence. `nonce` is the redeemed
 * challenge, null when none was named. Returns a note for the answer's `message`, or null.
 */
export type JudgeEvidence = (
  machine: FoundMachine | undefined,
  evidence: Evidence,
  nonce: Buffer | null,
) => Promise<string | null>;

export interface AttestDeps {
  readonly db: Knex;
  readonly readEk: EkReader;
  readonly tokens: ConfigTokens;
  readonly redeemNonce: (nonceId: string) => Promise<Buffer> | Buffer;
  readonly requireNonce: boolean;
  readonly judgeEvidence: JudgeEvidence;
  readonly admitPending: () => Promise<void>;
}

/**
 * A node's poll. Order: fingerprint of the material, nonce, machine, evidence, transition. A nonce that is named is
 * spent from there on, whatever follows.
 */
export const createAttest =
  (deps: AttestDeps) =>
  async (input: Attestation): Promise<Attested> => {
    const ek = await deps.readEk(input);
    const nonce = await redeem(deps, input.nonceId);
    const known = await findByFingerprint(deps.db, ek.fingerprints);
    const note = await deps.judgeEvidence(known, input, nonce);
    const machine = known === undefined ? await enlist(deps, ek, input) : await identify(deps, known, ek);
    const answer = machine.status === 'registered' ? await admit(deps, machine) : await poll(deps, machine);
    return { ...answer, note };
  };

const redeem = async (deps: AttestDeps, nonceId: string | null): Promise<Buffer | null> => {
  if (nonceId !== null) return deps.redeemNonce(nonceId);
  if (deps.requireNonce) {
    throw invalidField(
      'nonce_id',
      'a nonce is required: fetch one from /api/v1/attest/challenge',
      'nonce_required',
    );
  }
  return null;
};

/** A machine nobody announced: its record waits for approval. */
const enlist = async (deps: AttestDeps, ek: ReadEk, input: Attestation): Promise<MachineRecord> => {
  await deps.admitPending();
  const machine = newMachine(ek, input, { role: 'worker-app', status: 'pending_approval', isoUrl: null });
  return (await createMachine(deps.db, { machine, fingerprints: ek.fingerprints, messages: [] })).machine;
};

/** Rows from before SHA-384, or without material, take the canonical identity on their first attest. */
const identify = async (
  deps: AttestDeps,
  machine: MachineRecord,
  { material }: ReadEk,
): Promise<MachineRecord> => {
  if (machine.ekFingerprintSha384 !== null && machine.ekFingerprint.length === 96) return machine;
  await fillIdentity(deps.db, machine.machineId, {
    ekFingerprint: material.fingerprintSha384,
    ekCertPem: storedEk(material),
    ekSpkiSha384: material.spkiSha384,
  });
  return {
    ...machine,
    ekFingerprint: material.fingerprintSha384,
    ekFingerprintSha384: material.fingerprintSha384,
  };
};

/** registered -> attested. Whoever loses the race sees what the winner made of the machine. */
const admit = async (deps: AttestDeps, machine: MachineRecord): Promise<Omit<Attested, 'note'>> => {
  const token = await outstandingToken(deps, machine);
  const minted = token === undefined ? deps.tokens.mint(machine.machineId) : undefined;
  const tokenSha256 = minted?.sealed.sha256 ?? machine.configTokenSha256;
  const changed = await changeMachine(deps.db, {
    trigger: 'attest',
    machineId: machine.machineId,
    values: [minted?.sealed.sha256 ?? null],
    ...(minted === undefined ? {} : { token: minted.sealed }),
    messages: [{ topic: 'event', payload: { event: 'node.online', tokenSha256 } }],
  });
  if (changed !== undefined) return withToken(deps, changed, token ?? minted?.token);
  const current = await findMachine(deps.db, machine.machineId);
  if (current === undefined) throw new AppError('conflict', 'the machine was removed meanwhile');
  return poll(deps, current);
};

const poll = async (deps: AttestDeps, machine: MachineRecord): Promise<Omit<Attested, 'note'>> => {
  if (machine.status === 'rejected') {
    throw new AppError('forbidden', 'this machine was rejected', { code: 'machine_rejected' });
  }
  if (machine.status === 'attested') {
    return withToken(
      deps,
      machine,
      (await outstandingToken(deps, machine)) ?? (await renewLostToken(deps, machine)),
    );
  }
  const action = attestAction(machine.status, { tokenOutstanding: false, wipePending: machine.wipePending });
  if (action === 'wipe' && machine.wipeToldAt === null) {
    await recordWipeTold(deps.db, machine.machineId, [{ topic: 'wipe-told', payload: {} }]);
  }
  return { machine, action, configToken: null, configUrl: null };
};

const hasOutstandingToken = (
  machine: MachineRecord,
): machine is MachineRecord & { configTokenSha256: string } =>
  machine.configTokenSha256 !== null && !machine.tokenConsumed;

const outstandingToken = async (deps: AttestDeps, machine: MachineRecord): Promise<string | undefined> =>
  hasOutstandingToken(machine)
    ? deps.tokens.read(deps.db, machine.machineId, machine.configTokenSha256)
    : undefined;

/** An outstanding token that can no longer be read (its key is lost) is replaced. */
const renewLostToken = async (deps: AttestDeps, machine: MachineRecord): Promise<string | undefined> => {
  if (!hasOutstandingToken(machine)) return undefined;
  const { token, sealed } = deps.tokens.mint(machine.machineId);
  await replaceToken(deps.db, machine.machineId, machine.configTokenSha256, sealed);
  return token;
};

const withToken = (
  deps: AttestDeps,
  machine: MachineRecord,
  token: string | undefined,
): Omit<Attested, 'note'> => ({
  machine,
  action: attestAction(machine.status, {
    tokenOutstanding: token !== undefined,
    wipePending: machine.wipePending,
  }),
  configToken: token ?? null,
  configUrl: token === undefined ? null : deps.tokens.url(token),
});
