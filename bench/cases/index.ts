import type { BenchCase } from '../support/case.js';
import { bareKoa } from './bare.js';
import { brokerActCases } from './broker-acts.js';
import { brokerNodeCases } from './broker-nodes.js';
import { brokerTpmCases } from './broker-tpm.js';
import { iacCli } from './iac-cli.js';
import { iacHttp } from './iac-http.js';
import { vendingCases } from './vending.js';

/** The first one is the yardstick and always runs. */
export const cases: readonly BenchCase[] = [
  bareKoa,
  ...brokerNodeCases,
  ...brokerTpmCases,
  ...brokerActCases,
  ...vendingCases,
  iacHttp,
  iacCli,
];
