import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { config as readDotenv } from 'dotenv';
import { HELP } from './config.js';
import { startStack } from './stack.js';
import type { Stack } from './stack.js';
import { summaryOf } from './summary.js';

const STEP_SHOWN_AFTER_MS = 2_000;

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** Silent for two seconds, then says every ten what is waited for. */
const step = async <T>(title: string, work: Promise<T>): Promise<T> => {
  const started = performance.now();
  const report = () => print(`... ${title} (${((performance.now() - started) / 1000).toFixed(0)} s)`);
  const first = setTimeout(report, STEP_SHOWN_AFTER_MS);
  const next = setInterval(report, 10_000);
  try {
    return await work;
  } finally {
    clearTimeout(first);
    clearInterval(next);
  }
};

const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
};

/** Resolves at the first Ctrl-C or SIGTERM; a second one ends the process at once. */
const untilTold = (): Promise<void> =>
  new Promise((resolve) => {
    let told = false;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        if (told) process.exit(130);
        told = true;
        resolve();
      });
  });

const play = async (stack: Stack): Promise<void> => {
  const { playDemo } = await import('./demo.js');
  await playDemo(stack, print);
};

const run = async (args: readonly string[]): Promise<number> => {
  const started = performance.now();
  const told = untilTold();
  const starting = startStack({
    env: process.env,
    distDir: dirname(dirname(dirname(fileURLToPath(import.meta.url)))),
    print,
    step,
  });
  const stack = await starting;
  print(summaryOf(stack));
  print(`Started in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  if (args.includes('--demo'))
    play(stack).catch((error: unknown) => print(`The demo stopped: ${messageOf(error)}`));
  let code = 0;
  await Promise.race([told, stack.failed]).catch((error: unknown) => {
    print(`\n${messageOf(error)}. Stopping the rest.`);
    code = 1;
  });
  if (code === 0) print('\nStopping.');
  await stack.stop();
  return code;
};

/** `npm start`: runs the whole system until it is told to stop. */
export const main = async (args: readonly string[]): Promise<void> => {
  const unknown = args.find((arg) => !['--demo', '--help'].includes(arg));
  if (args.includes('--help') || unknown !== undefined) {
    print(unknown === undefined ? HELP : `unknown option ${unknown}\n\n${HELP}`);
    process.exitCode = unknown === undefined ? 0 : 2;
    return;
  }
  readDotenv({ quiet: true });
  try {
    process.exitCode = await run(args);
  } catch (error) {
    print(messageOf(error));
    process.exitCode = 1;
  }
};
