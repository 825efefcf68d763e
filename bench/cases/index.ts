import type { BenchCase } from '../support/case.js';
import { bareKoa } from './bare.js';
import { brokerActCases } from './broker-acts.js';
import { brokerNodeCases } from './broker-nodes.js';
import { brokerTpmCases } from './broker-tpm.js';
import { vendingCases } from './vending.js';

/** The first one is the yardstick and always runs. */
export const cases: readonly BenchCase[] = [
  bareKoa,
  ...brokerNodeCases,
  ...brokerTpmCases,
  ...brokerActCases,
  ...vendingCases,
];
