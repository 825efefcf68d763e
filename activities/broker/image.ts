import type { Knex } from 'knex';
import { storeImage } from '../../db/broker/provisioning.js';
import { isBarred } from '../../domain/broker/lifecycle.js';
import { requireMachine } from './acts.js';
import type { ConfigTokens } from './config-tokens.js';

export interface ImageActivities {
  /** Idempotent: image ids are content-addressed, and only a machine without an image gets one. */
  readonly requestImage: (machineId: string) => Promise<'built' | 'not-needed'>;
}

interface ImageDeps {
  readonly db: Knex;
  readonly tokens: ConfigTokens;
  readonly imageFor: (configUrl: string) => Promise<string>;
}

export const createImageActivities = ({ db, tokens, imageFor }: ImageDeps): ImageActivities => ({
  requestImage: async (machineId) => {
    const machine = await requireMachine(db, machineId);
    if (machine.isoUrl !== null || isBarred(machine.status) || machine.configTokenSha256 === null)
      return 'not-needed';
    const token = await tokens.read(db, machineId, machine.configTokenSha256);
    if (token === undefined) return 'not-needed';
    const isoUrl = await imageFor(tokens.url(token));
    const stored = await storeImage(db, machineId, isoUrl, [
      { topic: 'event', payload: { event: 'node.image_created' } },
    ]);
    return stored ? 'built' : 'not-needed';
  },
});
