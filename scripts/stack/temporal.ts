import { Connection } from '@temporalio/client';
import { ensureTemporalCli } from '../tools/temporal-cli.mjs';
import type { Part } from './child.js';
import { startChild } from './child.js';
import { waitUntil } from './wait.js';

/** Without these five the dev server waits for 50 ms ticks and unpolled partitions: 4 to 11 times the latency. */
export const devServerTuning = [
  'history.transferProcessorMaxPollRPS=2000',
  'history.timerProcessorMaxPollRPS=2000',
  'history.visibilityProcessorMaxPollRPS=200',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
].flatMap((value) => ['--dynamic-config-value', value]);

export interface TemporalOptions {
  readonly port: number;
  readonly uiPort: number;
  readonly namespace: string;
  /** SQLite file that keeps the histories. */
  readonly file: string;
}

const READY_MS = 30_000;

const frontendAnswers = async (address: string): Promise<boolean> => {
  const connection = await Connection.connect({ address, connectTimeout: 1_000 });
  await connection.close();
  return true;
};

/** A Temporal dev server with web UI on 127.0.0.1, ready to take workflows. */
export const startTemporal = async (
  options: TemporalOptions,
  print: (line: string) => void,
): Promise<Part> => {
  const { port, uiPort, namespace, file } = options;
  const part = startChild(
    {
      label: 'temporal',
      title: 'Temporal server',
      command: await ensureTemporalCli(),
      args: [
        ...['server', 'start-dev', '--ip', '127.0.0.1', '--ui-ip', '127.0.0.1'],
        ...['--port', String(port), '--ui-port', String(uiPort)],
        ...['--db-filename', file, '--namespace', namespace, '--log-level', 'error'],
        ...devServerTuning,
      ],
      env: process.env,
    },
    // The server prints its addresses at start; ours are in the summary.
    (line) => (/error|panic|fatal/i.test(line) ? print(line) : undefined),
  );
  const address = `127.0.0.1:${port}`;
  await Promise.race([
    waitUntil('the Temporal server', () => frontendAnswers(address), READY_MS),
    part.failed,
  ]);
  return part;
};
