import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sliced } from '../../domain/iac/json.js';

/** How long one piece of work may hold the event loop; the promise of the backend is 50 ms. */
const SLICE_MS = 8;

/** Runs sliced work to its end and lets other requests have their turn between slices. */
export const inSlices = async <T>(work: Sliced<T>): Promise<T> => {
  let until = performance.now() + SLICE_MS;
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (performance.now() > until) {
      await nextTurn();
      until = performance.now() + SLICE_MS;
    }
  }
};
