import type { Knex } from 'knex';
import { findSettings, removeSettings, saveSettings } from '../../../db/iac/deployment-settings.js';
import { lockStack } from '../../../db/iac/stacks.js';
import { AppError } from '../../../domain/errors.js';
import { mergeSettings } from '../../../domain/iac/deployments/settings.js';
import type { SettingsJson } from '../../../domain/iac/deployments/settings.js';
import type { StackName } from '../../../domain/iac/names.js';
import type { KeyScope } from '../../crypto/key-ring.js';
import type { IacDeps } from '../deps.js';
import { requireStack } from '../stacks.js';

type SettingsObject = Readonly<Record<string, SettingsJson>>;

const MAX_BYTES = 262_144;
const scopeOf = (stackId: string): KeyScope => ({
  purpose: 'svc/iac-deployment-settings/v1',
  context: [stackId],
});

/** What the deployments of a stack inherit; secrets in it never come out. */
export const createDeploymentSettings = ({ db, keyRing }: IacDeps) => {
  const readIn = async (trx: Knex, stackId: string): Promise<SettingsObject | undefined> => {
    const sealed = await findSettings(trx, stackId);
    if (sealed === undefined) return undefined;
    return JSON.parse(keyRing.open(scopeOf(stackId), stackId, sealed).toString()) as SettingsObject;
  };

  return {
    read: async (name: StackName): Promise<SettingsObject | undefined> =>
      readIn(db, (await requireStack(db, name)).id),
    /** Merges; two callers at once both take effect. */
    patch: async (name: StackName, patch: SettingsObject): Promise<SettingsObject> => {
      const { id } = await requireStack(db, name);
      return db.transaction(async (trx) => {
        await lockStack(trx, id);
        const merged = mergeSettings((await readIn(trx, id)) ?? {}, patch);
        const bytes = Buffer.from(JSON.stringify(merged));
        if (bytes.length > MAX_BYTES) throw new AppError('too_large', 'deployment settings may have 256 KiB');
        await saveSettings(trx, id, keyRing.seal(scopeOf(id), id, bytes));
        return merged;
      });
    },
    remove: async (name: StackName): Promise<void> => {
      await removeSettings(db, (await requireStack(db, name)).id);
    },
  };
};
