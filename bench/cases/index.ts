import type { BenchCase } from '../support/case.js';
import { bareKoa } from './bare.js';

/** The first one is the yardstick and always runs. */
export const cases: readonly BenchCase[] = [bareKoa];
