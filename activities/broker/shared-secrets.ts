import { randomUUID } from 'node:crypto';
import type { Knex } from 'knex';
import { logSecretDeleted } from '../../db/broker/secret-grants.js';
import type { SharedSecretRecord } from '../../db/broker/shared-secrets.js';
import {
  deleteSharedSecret,
  findSharedSecret,
  insertSharedSecret,
  readSharedSecret,
  updateSharedSecret,
} from '../../db/broker/shared-secrets.js';
import type { Actor } from '../../domain/broker/actor.js';
import type { Envelope } from '../../domain/broker/envelope.js';
import { expiryOf } from '../../domain/broker/secret.js';
import type { Clock } from '../../domain/clock.js';
import { AppError } from '../../domain/errors.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { logAct } from './act-log.js';
import type { MachineClaim, ProveMachine } from './machine-proof.js';
import { publishWebhookEvent, toPublish } from './publish-event.js';
import type { SealForMachine } from './secret-envelope.js';
import { secretAccessed, secretChanged } from './secret-facts.js';
import { sharedSecretPlace } from './secret-sealing.js';

export interface SharedSecretDeps {
  readonly db: Knex;
  readonly clock: Clock;
  readonly keys: KeyRing;
  readonly prove: ProveMachine;
  readonly sealFor: SealForMachine;
}

export interface SharedSecretInput {
  readonly name: string;
  readonly value: string;
  readonly description: string | null;
  readonly ttlSeconds: number | null;
}

/** Absent fields stay as they are. */
export interface SharedSecretPatch {
  readonly value?: string | undefined;
  readonly description?: string | undefined;
  readonly ttlSeconds?: number | undefined;
}

export type SharedValue = { readonly name: string; readonly accessedAt: string } & (
  | { readonly kind: 'plain'; readonly value: string }
  | { readonly kind: 'envelope'; readonly machineId: string; readonly envelope: Envelope }
);

export interface SharedSecrets {
  readonly create: (actor: Actor, input: SharedSecretInput) => Promise<SharedSecretRecord>;
  /** Check-and-set when `version` is given. */
  readonly update: (
    actor: Actor,
    id: string,
    patch: SharedSecretPatch,
    version: number | undefined,
  ) => Promise<SharedSecretRecord>;
  readonly remove: (actor: Actor, id: string) => Promise<void>;
  readonly read: (
    claim: MachineClaim,
    name: string,
    delivery: { readonly encrypted: boolean; readonly format?: string | undefined },
    sourceAddress: string | null,
  ) => Promise<SharedValue>;
}

export const sharedSecretNotFound = (): AppError => new AppError('not_found', 'Shared secret not found');

/** The shared secret, or `not_found`. */
export const requireSharedSecret = async (db: Knex, id: string): Promise<SharedSecretRecord> => {
  const secret = await findSharedSecret(db, id);
  if (secret === undefined) throw sharedSecretNotFound();
  return secret;
};

export const createSharedSecrets = (deps: SharedSecretDeps): SharedSecrets => {
  const { db, clock, keys } = deps;
  const seal = (id: string, name: string, value: string) => {
    const { scope, aad } = sharedSecretPlace(id, name);
    return keys.seal(scope, aad, Buffer.from(value));
  };
  return {
    create: (actor, { name, value, description, ttlSeconds }) => {
      const sharedSecretId = randomUUID();
      const now = clock.now();
      return db.transaction(async (trx) => {
        const isNew = await insertSharedSecret(trx, {
          sharedSecretId,
          name,
          description,
          createdBy: actor.operatorCn,
          expiresAt: expiryOf(ttlSeconds, now),
          sealed: seal(sharedSecretId, name, value),
        });
        if (!isNew) throw new AppError('conflict', 'a shared secret of this name exists');
        await publishWebhookEvent(
          trx,
          { eventType: 'secret.created', machineId: null, data: { name } },
          { now },
        );
        await logAct(trx, actor, 'secret_create', `shared_secret=${sharedSecretId} name=${name}`);
        return requireSharedSecret(trx, sharedSecretId);
      });
    },
    update: (actor, id, { value, description, ttlSeconds }, version) =>
      db.transaction(async (trx) => {
        const found = await requireSharedSecret(trx, id);
        const changed = await updateSharedSecret(trx, id, version, {
          sealed: value === undefined ? undefined : seal(id, found.name, value),
          description,
          expiresAt: ttlSeconds === undefined ? undefined : expiryOf(ttlSeconds, clock.now()),
        });
        if (!changed) throw secretChanged();
        const what = value === undefined ? 'described' : 'rotated';
        await logAct(trx, actor, 'secret_update', `shared_secret=${id} ${what}`);
        return requireSharedSecret(trx, id);
      }),
    remove: (actor, id) =>
      db.transaction(async (trx) => {
        if (!(await deleteSharedSecret(trx, id))) throw sharedSecretNotFound();
        const { sourceAddress } = actor.context;
        const entry = { kind: 'shared', secretId: id, machineId: null, actor: actor.operatorCn } as const;
        await logSecretDeleted(trx, { ...entry, sourceAddress });
        await logAct(trx, actor, 'secret_delete', `shared_secret=${id}`);
      }),
    read: async (claim, name, delivery, sourceAddress) => {
      const { machineId } = await deps.prove(claim, { inPlaintext: !delivery.encrypted });
      const event = toPublish(secretAccessed(machineId, name), { now: clock.now() });
      const found = await readSharedSecret(db, { machineId, name, sourceAddress, event });
      if (found.kind === 'unknown') throw sharedSecretNotFound();
      if (found.kind === 'not-granted')
        throw new AppError('forbidden', 'this machine has no access to this secret');
      const { scope, aad } = sharedSecretPlace(found.sharedSecretId, name);
      const value = keys.open(scope, aad, found.sealed);
      const { accessedAt } = found;
      if (!delivery.encrypted) return { kind: 'plain', name, accessedAt, value: value.toString('utf8') };
      const envelope = await deps.sealFor(machineId, delivery.format, value);
      return { kind: 'envelope', name, accessedAt, machineId, envelope };
    },
  };
};
