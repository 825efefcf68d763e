import { randomBytes, randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { openActivation, storeAk, takeActivation } from '../../db/broker/attestation-keys.js';
import { appendAudit } from '../../db/broker/audit.js';
import type { MachineRecord } from '../../db/broker/machines.js';
import type { ActContext } from '../../domain/broker/audit.js';
import { AppError } from '../../domain/errors.js';
import { addToOutbox } from '../../db/outbox.js';
import { akPem, parseAttestationKey } from '../crypto/ak.js';
import type { AttestationKey } from '../crypto/ak.js';
import { decodeBase64 } from '../crypto/base64.js';
import { constantTimeEqual, digest } from '../crypto/hash.js';
import { makeCredential } from '../crypto/make-credential.js';
import { requireMachine } from './acts.js';
import { requireEkTarget } from './ek-target.js';

const secretBytes = 32;
const lifetimeMs = 60_000;
/** A node needs one at a time; more only fill the table. */
const mostOpen = 16;

export interface ActivationRequest {
  /** Normalised, 64 or 96 hex. */
  readonly ekFingerprint: string;
  /** Base64 of TPM2B_PUBLIC or TPMT_PUBLIC. */
  readonly akPublic: string;
}
export interface ActivationChallenge {
  readonly activationId: string;
  readonly credentialBlob: Uint8Array;
  readonly encryptedSecret: Uint8Array;
  readonly expiresAt: string;
}
export interface ActivationAnswer {
  readonly activationId: string;
  /** Base64 of what TPM2_ActivateCredential gave. */
  readonly secret: string;
  readonly context: ActContext;
}
export interface ActivatedAk {
  readonly machineId: string;
  readonly akPub: string;
  readonly activatedAt: string;
}
export interface AkActivation {
  readonly begin: (machineId: string, request: ActivationRequest) => Promise<ActivationChallenge>;
  readonly complete: (machineId: string, answer: ActivationAnswer) => Promise<ActivatedAk>;
}

/** One answer for every way to fail, so that none of them tells whether the EK, the AK or the secret was at fault. */
const refused = (): AppError =>
  new AppError('forbidden', 'the attestation key was not activated', { code: 'activation_refused' });

/**
 * Credential activation (TPM 2.0 part 1, 24): the TPM gives the secret out only when the very public area that the
 * credential names, attributes included, is loaded beside the EK. So success proves that AK and EK share one TPM.
 */
export const createAkActivation = (db: Knex): AkActivation => ({
  begin: async (machineId, { ekFingerprint, akPublic }) => {
    const machine = await requireMachine(db, machineId);
    const ak = parseAttestationKey(decodeBase64(akPublic, 'ak_public', 2048));
    const ek = await requireEkTarget(db, machine);
    const known = ekFingerprint.length === 64 ? ek.fingerprintSha256 : machine.ekFingerprint;
    const isSameEk = constantTimeEqual(Buffer.from(ekFingerprint), Buffer.from(known));
    if (!isSameEk || machine.status === 'rejected') throw refused();
    const secret = randomBytes(secretBytes);
    const credential = await makeCredential(ek.target, ak.name, secret);
    const activationId = randomUUID();
    const secretSha256 = digest('sha256', secret);
    const activation = { activationId, machineId, akPublic: ak.area.bytes, secretSha256, lifetimeMs };
    const expiresAt = await openActivation(db, activation, mostOpen);
    if (expiresAt === undefined) {
      throw new AppError('throttled', 'too many activations of this machine are open', {
        retryAfterSeconds: 60,
      });
    }
    return { activationId, ...credential, expiresAt };
  },
  complete: async (machineId, { activationId, secret, context }) => {
    const machine = await requireMachine(db, machineId);
    const given = decodeBase64(secret, 'secret', 64);
    const activation = await takeActivation(db, activationId, machineId);
    if (activation === undefined || !constantTimeEqual(digest('sha256', given), activation.secretSha256)) {
      throw refused();
    }
    const ak = parseAttestationKey(activation.akPublic);
    const activatedAt = await db.transaction((trx) => store(trx, machine, ak, context));
    return { machineId, akPub: akPem(ak), activatedAt };
  },
});

/** The old key stops at once; its replacement is audited and told. */
const store = async (
  trx: Knex.Transaction,
  { machineId, status }: MachineRecord,
  ak: AttestationKey,
  context: ActContext,
): Promise<string> => {
  const row = { machineId, akPublic: ak.area.bytes, akName: ak.name, akPub: akPem(ak) };
  const { replaced, activatedAt } = await storeAk(trx, row);
  if (replaced === null || replaced.equals(ak.name)) return activatedAt;
  const data = { old_ak_name: replaced.toString('hex'), new_ak_name: ak.name.toString('hex') };
  const event = { event: 'machine.ak_replaced', machine: { machineId }, data };
  await addToOutbox(trx, [{ topic: 'machine-event', key: machineId, payload: event }]);
  await appendAudit(trx, {
    action: 'ak_replace',
    operatorCn: 'NODE',
    machineId,
    prevState: status,
    newState: status,
    detail: `${data.old_ak_name} -> ${data.new_ak_name}`,
    context,
  });
  return activatedAt;
};
