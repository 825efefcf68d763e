import { installIacCli } from '../../scripts/tools/iac-cli.mjs';
import type { BenchCase } from '../support/case.js';
import { summarise } from '../support/drive.js';
import { IAC_TOKEN, loggedTimes, mean, startIacGateway } from '../support/iac-gateway.js';
import { cliUser, stashProgram } from '../support/pulumi.js';
import type { Measurement } from '../support/report.js';

const SIZES = [1, 100, 1000];
const REPEATS: Readonly<Record<number, number>> = { 1: 3, 100: 3, 1000: 3 };

interface Backend {
  readonly name: string;
  readonly url: string;
  readonly repeats: (size: number) => number;
}

/** Milliseconds of `up --skip-preview` on a new stack. */
const timeUp = async ({ url }: Backend, size: number): Promise<number> => {
  const user = await cliUser(url, { token: IAC_TOKEN, env: { PULUMI_CONFIG_PASSPHRASE: '' } });
  try {
    await user.program(stashProgram(`p${size}-${Math.random().toString(36).slice(2, 8)}`, size));
    await user.run('stack', 'init', 'dev');
    const started = performance.now();
    await user.run('up', '--yes', '--skip-preview');
    return performance.now() - started;
  } finally {
    await user.remove();
  }
};

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

/** The real CLI on our backend, on one that does nothing, and on its own files, turn by turn. */
export const iacCli: BenchCase = {
  name: 'iac/cli',
  run: async (world) => {
    await installIacCli();
    const gateway = await startIacGateway(world);
    const port = await world.port();
    const nothing = await world.start('bench/support/iac-null.js', {
      env: { NULL_PORT: String(port) },
      readyText: 'listening',
    });
    const backends: readonly Backend[] = [
      { name: 'null', url: `http://127.0.0.1:${port}`, repeats: (size) => REPEATS[size] ?? 1 },
      { name: 'keystead', url: gateway.url, repeats: (size) => REPEATS[size] ?? 1 },
      { name: 'file', url: `file://${world.folder()}`, repeats: () => 1 },
    ];
    const measurements: Measurement[] = [];
    for (const size of SIZES) {
      const times = new Map<string, number[]>(backends.map(({ name }) => [name, []]));
      for (let turn = 0; turn < (REPEATS[size] ?? 1); turn++) {
        for (const backend of backends) {
          if (turn < backend.repeats(size)) times.get(backend.name)?.push(await timeUp(backend, size));
        }
      }
      const base = median(times.get('null') ?? []);
      for (const [name, values] of times) {
        measurements.push({
          name: `up of ${size} resources, ${name}`,
          ...summarise(values, values.reduce((sum, ms) => sum + ms, 0) / 1000),
          note: `median ${(median(values) / 1000).toFixed(2)} s, ${(median(values) / base).toFixed(3)} of null`,
        });
      }
    }
    for (const [what, end] of [
      ['journal request at the server', '/journalentries'],
      ['complete (fold) at the server', '/complete'],
    ] as const) {
      const values = loggedTimes(gateway, end);
      measurements.push({
        name: what,
        ...summarise(values, 1),
        perSecond: 0,
        note: `mean ${mean(values).toFixed(2)} ms, max ${Math.max(...values).toFixed(1)} ms`,
      });
    }
    await nothing.stop();
    await gateway.process.stop();
    return measurements;
  },
};
