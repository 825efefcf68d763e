import type { Client } from '@temporalio/client';
import type { Queue } from '../../../workflows/queues.js';

/**
 * One shape that a workflow's history can have. The activities answer what the shape needs; the workflow code is
 * the shipped one. Files are never recorded again: a changed workflow gets new scenarios, and must replay the old.
 */
export interface Scenario {
  /** `<workflow type>.<shape>`: the name of the file. */
  readonly name: string;
  readonly queue: Queue;
  readonly activities: object;
  /** Starts the workflow and brings it to the state worth keeping; returns its id. */
  readonly play: (client: Client) => Promise<string>;
}
