import type { Knex } from 'knex';
import type { StepOutcome, StepRecord, StepStatus } from '../../domain/vending/run.js';

interface StepRow {
  readonly run_id: string;
  readonly name: string;
  readonly position: number;
  readonly status: StepStatus;
  readonly attempts: number;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly summary: string;
  readonly error: string;
}

const columns: (keyof StepRow)[] = [
  'run_id',
  'name',
  'position',
  'status',
  'attempts',
  'started_at',
  'ended_at',
  'summary',
  'error',
];

const steps = (db: Knex) => db<StepRow>('vending_run_steps');

/** Makes the rows of a run's steps; rows that are there stay. */
export const addSteps = async (db: Knex, runId: string, names: readonly string[]): Promise<void> => {
  if (names.length === 0) return;
  await steps(db)
    .insert(names.map((name, position) => ({ run_id: runId, name, position })))
    .onConflict(['run_id', 'name'])
    .ignore();
};

export const startStep = async (db: Knex, runId: string, name: string, attempt: number): Promise<void> => {
  await steps(db)
    .where({ run_id: runId, name })
    .update({
      status: 'running',
      attempts: attempt,
      started_at: db.raw('coalesce(started_at, now())'),
      ended_at: null,
    } as object);
};

/** Notes why an attempt failed while the step is still being tried. */
export const noteStepError = async (db: Knex, runId: string, name: string, error: string): Promise<void> => {
  await steps(db).where({ run_id: runId, name }).update({ error });
};

/** Writes how a step ended; the time of a step that had ended already stays. */
export const endStep = async (db: Knex, runId: string, outcome: StepOutcome): Promise<void> => {
  await steps(db)
    .where({ run_id: runId, name: outcome.name })
    .update({
      status: outcome.status,
      summary: outcome.summary,
      error: outcome.error,
      ended_at: db.raw('coalesce(ended_at, now())'),
    } as object);
};

/** Steps of several runs at once, in their order, by run id. */
export const stepsOf = async (
  db: Knex,
  runIds: readonly string[],
): Promise<ReadonlyMap<string, readonly StepRecord[]>> => {
  const rows = await steps(db)
    .select(columns)
    .whereIn('run_id', [...runIds])
    .orderBy('position');
  const byRun = new Map<string, StepRecord[]>(runIds.map((id) => [id, []]));
  for (const row of rows) byRun.get(row.run_id)?.push(toStep(row));
  return byRun;
};

const toStep = (row: StepRow): StepRecord => ({
  name: row.name,
  position: row.position,
  status: row.status,
  attempts: row.attempts,
  startedAt: row.started_at ?? undefined,
  endedAt: row.ended_at ?? undefined,
  summary: row.summary,
  error: row.error,
});
