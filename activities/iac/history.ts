import { findByVersion, listHistory, listPreviews } from '../../db/iac/updates.js';
import type { StackName } from '../../domain/iac/names.js';
import type { Update } from '../../domain/iac/update.js';
import type { IacDeps } from './deps.js';
import { requireStack } from './stacks.js';

/** Pages count from 1, as the CLI does. */
export interface PageRequest {
  readonly page: number;
  readonly pageSize: number;
}

const rows = ({ page, pageSize }: PageRequest) => ({ limit: pageSize, offset: (page - 1) * pageSize });

export const createHistoryQueries = ({ db }: Pick<IacDeps, 'db'>) => ({
  updates: async (name: StackName, page: PageRequest): Promise<readonly Update[]> =>
    listHistory(db, (await requireStack(db, name)).id, rows(page)),
  previews: async (name: StackName, page: PageRequest): Promise<readonly Update[]> =>
    listPreviews(db, (await requireStack(db, name)).id, rows(page)),
  byVersion: async (name: StackName, version: number): Promise<Update | undefined> =>
    findByVersion(db, (await requireStack(db, name)).id, version),
});
