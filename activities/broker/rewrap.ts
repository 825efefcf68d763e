import type { Knex } from 'knex';
import type { SealedPlace } from '../../db/broker/rewrap.js';
import { countForRewrap, findForRewrap, writeRewrapped } from '../../db/broker/rewrap.js';
import type { RewrapBatch, RewrapKind } from '../../domain/broker/rewrap.js';
import type { KeyRing } from '../crypto/key-ring.js';
import type { SecretPlace } from './secret-sealing.js';
import { machineSecretPlace, sharedSecretPlace, webhookSecretPlace } from './secret-sealing.js';

const BATCH = 200;

export interface RewrapActivities {
  /** Seals one batch of a kind under the current key; a value that a reader opens is whole at every moment. */
  readonly rewrapBatch: (kind: RewrapKind, after: string | null) => Promise<RewrapBatch>;
  readonly countForRewrap: () => Promise<number>;
}

export const createRewrapActivities = (db: Knex, keys: KeyRing): RewrapActivities => ({
  countForRewrap: () => countForRewrap(db, keys.currentKeyId),
  rewrapBatch: async (kind, after) => {
    const places = await findForRewrap(db, kind, keys.currentKeyId, after, BATCH);
    let rewrapped = 0;
    let failed = 0;
    for (const place of places) {
      const value = openOrUndefined(keys, kind, place);
      if (value === undefined) {
        failed += 1;
        continue;
      }
      const { scope, aad } = placeOf(kind, place);
      if (await writeRewrapped(db, kind, place, keys.seal(scope, aad, value))) rewrapped += 1;
    }
    return { rewrapped, failed, last: places.length === BATCH ? (places.at(-1)?.id ?? null) : null };
  },
});

const openOrUndefined = (keys: KeyRing, kind: RewrapKind, place: SealedPlace): Buffer | undefined => {
  const { scope, aad } = placeOf(kind, place);
  try {
    return keys.open(scope, aad, place.sealed);
  } catch {
    return undefined;
  }
};

const placeOf = (kind: RewrapKind, { id, owner, name, ekFingerprint }: SealedPlace): SecretPlace => {
  switch (kind) {
    case 'machine':
      return machineSecretPlace({
        secretId: id,
        machineId: owner ?? '',
        name: name ?? '',
        ekFingerprint: ekFingerprint ?? '',
      });
    case 'shared':
      return sharedSecretPlace(id, name ?? '');
    case 'webhook':
      return webhookSecretPlace(owner ?? '', id);
  }
};
