import { Readable } from 'node:stream';
import type { Knex } from 'knex';
import { LRUCache } from 'lru-cache';
import type { Stack } from '../../db/iac/stacks.js';
import { findState, findVersion, readPieces } from '../../db/iac/states.js';
import { listFormerNames } from '../../db/iac/stacks.js';
import { AppError } from '../../domain/errors.js';
import type { StackName } from '../../domain/iac/names.js';
import { renameDeployment } from '../../domain/iac/rename.js';
import type { IacDeps } from './deps.js';
import { inSlices } from './slices.js';
import { requireStack } from './stacks.js';
import { loadState, printedState } from './state-store.js';

/** A state on its way out, as one gzip stream. */
export interface ExportedState {
  readonly byteSize: number;
  readonly gzip: Readable | Buffer;
}

const KEEP_UP_TO = 4 * 1_048_576;
const KEPT_BYTES = 64 * 1_048_576;

export const createExportCommands = ({ db }: Pick<IacDeps, 'db'>) => {
  const kept = new LRUCache<string, ExportedState & { readonly gzip: Buffer }>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ gzip }) => gzip.length + 1,
  });

  /** `undefined` = the stack has no state yet. */
  const current = async (name: StackName): Promise<ExportedState | undefined> =>
    stored((await requireStack(db, name)).stateId);

  const version = async (name: StackName, number: number): Promise<ExportedState | undefined> => {
    const stack = await requireStack(db, name);
    const found = await findVersion(db, stack.id, number);
    if (found === undefined) throw new AppError('not_found', `the state of version ${number} is not kept`);
    return (await renamedSince(db, stack, found.stateId)) ?? stored(found.stateId);
  };

  /** States never change, so what was read once may be sent again; only small ones are kept. */
  const stored = async (stateId: string | null): Promise<ExportedState | undefined> => {
    if (stateId === null) return undefined;
    const known = kept.get(stateId);
    if (known !== undefined) return known;
    const state = await findState(db, stateId);
    if (state === undefined) return undefined;
    if (state.byteSize > KEEP_UP_TO) {
      return { byteSize: state.byteSize, gzip: Readable.from(readPieces(db, stateId)) };
    }
    const pieces: Buffer[] = [];
    for await (const piece of readPieces(db, stateId)) pieces.push(piece);
    const read = { byteSize: state.byteSize, gzip: Buffer.concat(pieces) };
    kept.set(stateId, read);
    return read;
  };

  return { current, version };
};

/** An older version of a stack that was renamed goes out under the present name. */
const renamedSince = async (
  db: Knex,
  stack: Stack,
  stateId: string | null,
): Promise<ExportedState | undefined> => {
  const formerNames = await listFormerNames(db, stack.id);
  if (formerNames.length === 0 || stateId === null || stateId === stack.stateId) return undefined;
  let state = await loadState(db, stateId);
  for (const former of formerNames) state = await inSlices(renameDeployment(state, former, stack));
  const { byteSize, pieces } = await printedState(state);
  return { byteSize, gzip: Readable.from(pieces) };
};
