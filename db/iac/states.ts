import type { Knex } from 'knex';

/** A whole state: text of an untyped deployment, gzip in pieces that concatenate to one stream. Never changed once written. */
export interface State {
  readonly id: string;
  readonly stackId: string;
  /** Length of the text. */
  readonly byteSize: number;
  readonly resourceCount: number;
}

const STATES = 'extension_iac_state_states';
const PIECES = 'extension_iac_state_pieces';
const VERSIONS = 'extension_iac_state_versions';
const columns = {
  id: 'id',
  stackId: 'stack_id',
  byteSize: 'byte_size',
  resourceCount: 'resource_count',
} as const;

export const insertState = async (trx: Knex, state: State, pieces: readonly Buffer[]): Promise<void> => {
  await trx(STATES).insert({
    id: state.id,
    stack_id: state.stackId,
    byte_size: state.byteSize,
    resource_count: state.resourceCount,
  });
  for (const [number, gzip] of pieces.entries())
    await trx(PIECES).insert({ state_id: state.id, number, gzip });
};

export const findState = (db: Knex, id: string): PromiseLike<State | undefined> =>
  db(STATES).first(columns).where({ id });

const PIECES_AT_ONCE = 4;

/** The pieces in order, a few read at a time. */
export async function* readPieces(db: Knex, stateId: string): AsyncGenerator<Buffer> {
  for (let from = 0; ; from += PIECES_AT_ONCE) {
    const pieces = await db(PIECES)
      .where({ state_id: stateId })
      .where('number', '>=', from)
      .orderBy('number')
      .limit(PIECES_AT_ONCE)
      .pluck<Buffer[]>('gzip');
    yield* pieces;
    if (pieces.length < PIECES_AT_ONCE) return;
  }
}

/** Deletes a state that no version refers to; `keep` is spared too. */
export const dropUnversionedState = async (trx: Knex, id: string, keep: string | null): Promise<void> => {
  if (id === keep) return;
  await trx(STATES)
    .where({ id })
    .whereNotExists(trx(VERSIONS).select(trx.raw('1')).where({ state_id: id }))
    .delete();
};

export interface StateVersion {
  readonly version: number;
  readonly stateId: string | null;
}

export const insertVersion = async (
  trx: Knex,
  stackId: string,
  updateId: string,
  { version, stateId }: StateVersion,
): Promise<void> => {
  await trx(VERSIONS).insert({ stack_id: stackId, version, update_id: updateId, state_id: stateId });
};

export const findVersion = (
  db: Knex,
  stackId: string,
  version: number,
): PromiseLike<StateVersion | undefined> =>
  db(VERSIONS).first({ version: 'version', stateId: 'state_id' }).where({ stack_id: stackId, version });

/** Drops all but the newest `keep` versions and the states that nothing refers to any more. */
export const pruneVersions = async (trx: Knex, stackId: string, keep: number): Promise<void> => {
  const dropped = await trx(VERSIONS)
    .where({ stack_id: stackId })
    .whereNotIn(
      'version',
      trx(VERSIONS).select('version').where({ stack_id: stackId }).orderBy('version', 'desc').limit(keep),
    )
    .delete();
  if (dropped === 0) return;
  await trx.raw(
    `delete from ${STATES} s where s.stack_id = ?
       and not exists (select 1 from ${VERSIONS} v where v.state_id = s.id)
       and not exists (select 1 from extension_iac_state_stacks k where k.id = s.stack_id and k.state_id = s.id)`,
    [stackId],
  );
};
