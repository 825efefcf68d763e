import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { readableLine } from './log-lines.js';

export interface ChildSpec {
  /** Short name before each of its lines. */
  readonly label: string;
  /** What it is, for a person. */
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stopSignal?: NodeJS.Signals;
}

export interface Part {
  readonly title: string;
  /** Rejects when the part ends without having been told to. */
  readonly failed: Promise<never>;
  readonly stop: () => Promise<void>;
}

const GRACE_MS = 15_000;

const relay = (stream: Readable, spec: ChildSpec, print: (line: string) => void): void => {
  createInterface({ input: stream }).on('line', (line) => {
    if (line.trim() !== '') print(readableLine(spec.label, line));
  });
};

const endOf = async (child: ChildProcess): Promise<string> => {
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  return signal === null ? `exit code ${code ?? 'unknown'}` : `killed by ${signal}`;
};

/** Starts a child in a process group of its own: Ctrl-C in the terminal reaches `npm start` alone, which stops all in order. */
export const startChild = (spec: ChildSpec, print: (line: string) => void): Part => {
  const child = spawn(spec.command, [...spec.args], {
    env: spec.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killNow = () => child.kill('SIGKILL');
  process.once('exit', killNow);
  relay(child.stdout, spec, print);
  relay(child.stderr, spec, print);
  let stopping = false;
  const ended = endOf(child).finally(() => process.off('exit', killNow));
  const failed = ended.then(
    (how) =>
      stopping
        ? new Promise<never>(() => undefined)
        : Promise.reject(new Error(`${spec.title} stopped by itself (${how}); its last lines are above`)),
    (error: unknown) => Promise.reject(new Error(`${spec.title} could not be started`, { cause: error })),
  );
  failed.catch(() => undefined);
  return {
    title: spec.title,
    failed,
    stop: async () => {
      stopping = true;
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(spec.stopSignal ?? 'SIGTERM');
      const impatient = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
      await ended;
      clearTimeout(impatient);
    },
  };
};

/** A part that lives inside this process. */
export const inProcess = (title: string, stop: () => Promise<void>): Part => ({
  title,
  failed: new Promise<never>(() => undefined),
  stop,
});
