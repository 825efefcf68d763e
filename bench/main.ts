/** `npm run bench [-- <beginning of a case name> …]`: measures, prints a table, writes bench/results/. */
import { join } from 'node:path';
import { packageRoot } from '../scripts/tools/paths.mjs';
import { cases } from './cases/index.js';
import type { Measurement } from './support/report.js';
import { loadLine, writeResults } from './support/report.js';
import { openWorld } from './support/world.js';

const wanted = process.argv.slice(2);
const chosen = cases.filter(
  ({ name }, index) => index === 0 || wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
);
const loadAtStart = loadLine();
console.error(loadAtStart);
const { world, close } = await openWorld();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void close().finally(() => process.exit(1)));
}
const measurements: Measurement[] = [];
try {
  for (const { name, run } of chosen) {
    console.error(`${name} ...`);
    try {
      measurements.push(...(await run(world)));
    } catch (error) {
      console.error(error);
      process.exitCode = 1;
    }
  }
} finally {
  await close();
}
const label = wanted.length === 0 ? 'all' : wanted.join('-').replaceAll('/', '-');
console.log(writeResults(join(packageRoot(), 'bench/results'), label, measurements, loadAtStart));
