import type { Measurement } from './report.js';
import type { BenchWorld } from './world.js';

/** Cases of a group run one after the other in the order of bench/cases/index.ts. */
export interface BenchCase {
  /** `group/case`; `npm run bench -- broker` runs all whose name begins so. */
  readonly name: string;
  readonly run: (world: BenchWorld) => Promise<readonly Measurement[]>;
}
