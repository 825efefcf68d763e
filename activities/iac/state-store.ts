import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Knex } from 'knex';
import { findState, insertState, readPieces } from '../../db/iac/states.js';
import { AppError } from '../../domain/errors.js';
import type { UntypedDeployment } from '../../domain/iac/deployment.js';
import {
  checkDeploymentText,
  deploymentText,
  emptyDeployment,
  readDeployment,
  resourceCount,
} from '../../domain/iac/deployment.js';
import { parseJson } from '../../domain/iac/json.js';
import type { Compressed } from './gzip.js';
import { compress, decompress } from './gzip.js';
import { inSlices } from './slices.js';

/** A compressed state that is not in the database yet. */
export interface NewState extends Compressed {
  readonly resourceCount: number;
}

/** A state as text, checked to be one. Throws `malformed`. */
export const checkedState = async (text: Uint8Array): Promise<NewState> => {
  const resources = await inSlices(checkDeploymentText(text));
  return { ...(await compress([text])), resourceCount: resources };
};

export const parseState = async (text: Uint8Array): Promise<UntypedDeployment> =>
  inSlices(readDeployment(await inSlices(parseJson(text))));

export const printedState = async (state: UntypedDeployment): Promise<NewState> => ({
  ...(await compress(deploymentText(state))),
  resourceCount: resourceCount(state),
});

/** Returns the id of the new state. */
export const saveState = async (trx: Knex, stackId: string, state: NewState): Promise<string> => {
  const id = randomUUID();
  const { byteSize, pieces } = state;
  await insertState(trx, { id, stackId, byteSize, resourceCount: state.resourceCount }, pieces);
  return id;
};

/** The text of a stored state. */
export const loadText = async (db: Knex, stateId: string): Promise<Buffer> => {
  const state = await findState(db, stateId);
  if (state === undefined) throw new AppError('not_found', 'the state does not exist any more');
  return decompress(Readable.from(readPieces(db, stateId)), Math.max(state.byteSize, 1), state.byteSize);
};

/** `null` is the state of a stack that was never updated. */
export const loadState = async (db: Knex, stateId: string | null): Promise<UntypedDeployment> =>
  stateId === null ? emptyDeployment : parseState(await loadText(db, stateId));
