import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Latencies } from './drive.js';

/** One line of the table. Only name, requests and times are always there. */
export interface Measurement extends Latencies {
  readonly name: string;
  readonly connections?: number;
  readonly failures?: number;
  readonly statuses?: Readonly<Record<string, number>>;
  readonly cpuMsPerRequest?: number | null;
  readonly queriesPerRequest?: number;
  /** Rate over that of the bare SQL statement that the request needs, in the same run. */
  readonly ofBareSql?: number;
  /** Anything worth saying: rows a second, megabytes. */
  readonly note?: string;
}

const digits = (value: number | null | undefined, places: number): string =>
  value === null || value === undefined ? '' : value.toFixed(places);

const columns: readonly (readonly [string, (m: Measurement, bare: Measurement | undefined) => string])[] = [
  ['case', (m) => m.name],
  ['conn', (m) => String(m.connections ?? '')],
  ['req/s', (m) => digits(m.perSecond, m.perSecond < 100 ? 1 : 0)],
  ['p50 ms', (m) => digits(m.p50Ms, 2)],
  ['p99 ms', (m) => digits(m.p99Ms, 2)],
  ['CPU ms/req', (m) => digits(m.cpuMsPerRequest, 3)],
  ['queries/req', (m) => digits(m.queriesPerRequest, 2)],
  ['of bare Koa', (m, bare) => (bare && bare !== m ? digits(m.perSecond / bare.perSecond, 3) : '')],
  ['of bare SQL', (m) => digits(m.ofBareSql, 3)],
  ['failures', (m) => (m.failures === undefined ? '' : String(m.failures))],
  ['note', (m) => m.note ?? ''],
];

/** A table in Markdown with padded columns: readable in a terminal too. */
export const markdownTable = (measurements: readonly Measurement[]): string => {
  const bare = measurements.find(({ name }) => name === 'bare Koa');
  const lines = [
    columns.map(([title]) => title),
    ...measurements.map((m) => columns.map(([, cell]) => cell(m, bare))),
  ];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const row = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const [header = [], ...body] = lines;
  return [row(header), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body.map(row)].join(
    '\n',
  );
};

export const loadLine = (): string =>
  `load average ${loadavg()
    .map((load) => load.toFixed(2))
    .join(' ')}, ${cpus().length} CPUs (${cpus()[0]?.model ?? '?'}), ` +
  `${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;

/** Writes `<date>-<name>.json` and `.md` into `folder`; returns the Markdown. */
export const writeResults = (
  folder: string,
  name: string,
  measurements: readonly Measurement[],
  loadAtStart: string,
): string => {
  const date = new Date().toISOString();
  const page = `# ${name}, ${date}\n\nAt start: ${loadAtStart}. At end: ${loadLine()}.\n\n${markdownTable(measurements)}\n`;
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${date.slice(0, 10)}-${name}`);
  writeFileSync(
    `${path}.json`,
    `${JSON.stringify({ date, loadAtStart, loadAtEnd: loadLine(), measurements }, undefined, 2)}\n`,
  );
  writeFileSync(`${path}.md`, page);
  return page;
};
