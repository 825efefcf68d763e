import type { Knex } from 'knex';
import type { SealedSecrets } from './deployments.js';

const TABLE = 'extension_iac_state_deployment_settings';

export const findSettings = (db: Knex, stackId: string): PromiseLike<SealedSecrets | undefined> =>
  db(TABLE)
    .first({ keyId: 'master_key_id', nonce: 'nonce', tag: 'tag', ciphertext: 'ciphertext' })
    .where({ stack_id: stackId });

export const saveSettings = async (db: Knex, stackId: string, sealed: SealedSecrets): Promise<void> => {
  const { keyId, nonce, tag, ciphertext } = sealed;
  await db(TABLE)
    .insert({ stack_id: stackId, master_key_id: keyId, nonce, tag, ciphertext })
    .onConflict('stack_id')
    .merge();
};

export const removeSettings = (db: Knex, stackId: string): PromiseLike<number> =>
  db(TABLE).where({ stack_id: stackId }).delete();
