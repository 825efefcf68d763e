import type { Knex } from 'knex';
import type { VendingParts } from './parts.js';
import { createRunLifecycle } from './run-lifecycle.js';
import { stepActivity } from './step.js';

/** Everything that the worker of the vending queue registers: the lifecycle of runs, and one activity a step under its name. */
export const createVendingActivities = (db: Knex, parts: VendingParts) => ({
  ...createRunLifecycle({ db, ...parts }),
  ...Object.fromEntries(parts.steps.map((step) => [step.definition.name, stepActivity(db, step)])),
});
