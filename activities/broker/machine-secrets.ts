import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import type { MachineSecretRecord } from '../../db/broker/machine-secrets.js';
import {
  deleteMachineSecret,
  findMachineSecret,
  insertMachineSecret,
  listMachineSecrets,
  readMachineSecret,
  replaceMachineSecret,
} from '../../db/broker/machine-secrets.js';
import { logSecretDeleted } from '../../db/broker/secret-grants.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { Envelope } from '../../domain/broker/envelope.js';
import { isCanonicalFingerprint } from '../../domain/broker/fingerprint.js';
import { expiryOf } from '../../domain/broker/secret.js';
import type { Clock } from '../../domain/clock.js';
import { AppError } from '../../domain/errors.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { logAct } from './act-log.js';
import { requireMachine } from './acts.js';
import type { MachineClaim, ProveMachine } from './machine-proof.js';
import { publishWebhookEvent, toPublish } from './publish-event.js';
import type { SealForMachine } from './secret-envelope.js';
import { machineSecretPlace } from './secret-sealing.js';
import { secretAccessed, secretChanged } from './secret-facts.js';

export interface MachineSecretDeps {
  readonly db: Knex;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly prove: ProveMachine;
  readonly sealFor: SealForMachine;
}

export interface SecretValue {
  readonly value: string;
  /** Seconds; null: for ever. */
  readonly ttlSeconds: number | null;
}

export interface SealedSecret {
  readonly secretId: string;
  readonly name: string;
  /** Opens only in the machine's TPM. */
  readonly envelope: Envelope;
}

export interface MachineSecrets {
  readonly create: (
    actor: Actor,
    machineId: string,
    secret: SecretValue & { readonly name: string },
  ) => Promise<MachineSecretRecord>;
  readonly list: (machineId: string) => Promise<readonly MachineSecretRecord[]>;
  /** Check-and-set when `version` is given: `conflict` when the secret has another one by now. */
  readonly replace: (
    actor: Actor,
    secretId: string,
    next: SecretValue,
    version: number | undefined,
  ) => Promise<MachineSecretRecord>;
  readonly remove: (actor: Actor, secretId: string) => Promise<void>;
  readonly read: (
    claim: MachineClaim,
    machineId: string,
    name: string,
    format: string | undefined,
    sourceAddress: string | null,
  ) => Promise<SealedSecret>;
}

const secretNotFound = (): AppError => new AppError('not_found', 'Secret not found');

export const createMachineSecrets = (deps: MachineSecretDeps): MachineSecrets => {
  const { db, clock, keys } = deps;
  const place = async (secret: { secretId: string; machineId: string; name: string }) => {
    const { ekFingerprint } = await requireMachine(db, secret.machineId);
    if (!isCanonicalFingerprint(ekFingerprint))
      throw new AppError('conflict', 'the machine must attest first: its EK fingerprint is of the old form');
    return machineSecretPlace({ ...secret, ekFingerprint });
  };
  return {
    create: async (actor, machineId, { name, value, ttlSeconds }) => {
      const secretId = randomUUID();
      const { scope, aad } = await place({ secretId, machineId, name });
      const sealed = keys.seal(scope, aad, Buffer.from(value));
      const expiresAt = expiryOf(ttlSeconds, clock.now());
      const createdBy = actor.operatorCn;
      return db.transaction(async (trx) => {
        const secret = await insertMachineSecret(trx, {
          secretId,
          machineId,
          name,
          createdBy,
          expiresAt,
          sealed,
        });
        if (secret === undefined) throw new AppError('conflict', 'a secret of this name exists');
        const event = { eventType: 'secret.created', machineId, data: { name } } as const;
        await publishWebhookEvent(trx, event, { now: clock.now() });
        await logAct(trx, actor, 'secret_create', `secret=${secretId} name=${name}`, machineId);
        return secret;
      });
    },
    list: async (machineId) => {
      await requireMachine(db, machineId);
      return listMachineSecrets(db, machineId);
    },
    replace: async (actor, secretId, { value, ttlSeconds }, version) => {
      const found = await findMachineSecret(db, secretId);
      if (found === undefined) throw secretNotFound();
      const { scope, aad } = await place(found);
      const sealed = keys.seal(scope, aad, Buffer.from(value));
      const expiresAt = expiryOf(ttlSeconds, clock.now());
      return db.transaction(async (trx) => {
        const secret = await replaceMachineSecret(trx, secretId, version, { sealed, expiresAt });
        if (secret === undefined) throw secretChanged();
        await logAct(
          trx,
          actor,
          'secret_update',
          `secret=${secretId} version=${secret.version}`,
          found.machineId,
        );
        return secret;
      });
    },
    remove: (actor, secretId) =>
      db.transaction(async (trx) => {
        const gone = await deleteMachineSecret(trx, secretId);
        if (gone === undefined) throw secretNotFound();
        const { machineId, name } = gone;
        const { sourceAddress } = actor.context;
        await logSecretDeleted(trx, {
          kind: 'machine',
          secretId,
          machineId,
          actor: actor.operatorCn,
          sourceAddress,
        });
        await logAct(trx, actor, 'secret_delete', `secret=${secretId} name=${name}`, machineId);
      }),
    read: async (claim, machineId, name, format, sourceAddress) => {
      const machine = await deps.prove(claim, { inPlaintext: false });
      if (machine.machineId !== machineId)
        throw new AppError('forbidden', 'this machine may not read secrets');
      const event = toPublish(secretAccessed(machineId, name), { now: clock.now() });
      const found = await readMachineSecret(db, { machineId, name, sourceAddress, event });
      if (found === undefined) throw secretNotFound();
      const { secretId, sealed } = found;
      const { ekFingerprint } = machine;
      const { scope, aad } = machineSecretPlace({ secretId, machineId, name, ekFingerprint });
      const envelope = await deps.sealFor(machineId, format, keys.open(scope, aad, sealed));
      return { secretId, name, envelope };
    },
  };
};
