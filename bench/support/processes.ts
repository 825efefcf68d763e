import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { answersOk, waitUntil } from '../../scripts/stack/wait.js';

export interface ProcessOptions {
  /** Absolute path of a program of dist/. */
  readonly entry: string;
  readonly args?: readonly string[];
  readonly nodeArgs?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Answers 2xx when the process can work. */
  readonly readyUrl?: string;
  /** Or: it has printed this. */
  readonly readyText?: string;
}

export interface RunningProcess {
  readonly pid: number;
  /** The end of what it printed. */
  readonly output: () => string;
  /** User and system time of all its threads so far. */
  readonly cpuSeconds: () => number;
  readonly residentBytes: () => number;
  /** Sends the signal to this process alone and waits for its end; returns its exit code, null when a signal ended it. */
  readonly kill: (signal: NodeJS.Signals) => Promise<number | null>;
  /** SIGTERM. */
  readonly stop: () => Promise<number | null>;
}

const TICKS_PER_SECOND = 100;
const READY_MS = 60_000;
const KEPT_OUTPUT = 2_000_000;

/** Fields 14 and 15 of /proc/<pid>/stat; the name in field 2 may hold spaces. */
const cpuSeconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
};

const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;

/** Starts a program as a child process of its own and waits until it is ready. */
export const startProcess = async (options: ProcessOptions): Promise<RunningProcess> => {
  const child = spawn(
    process.execPath,
    ['--enable-source-maps', ...(options.nodeArgs ?? []), options.entry, ...(options.args ?? [])],
    {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let text = '';
  const keep = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-KEPT_OUTPUT);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const pid = child.pid ?? 0;
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    return exited;
  };
  try {
    await untilReady(options, exited, () => text);
  } catch (error) {
    await kill('SIGKILL');
    throw new Error(`${options.entry} did not start:\n${text.slice(-4000)}`, { cause: error });
  }
  return {
    pid,
    output: () => text,
    cpuSeconds: () => cpuSeconds(pid),
    residentBytes: () => residentBytes(pid),
    kill,
    stop: () => kill('SIGTERM'),
  };
};

const untilReady = async (
  { readyUrl, readyText, entry }: ProcessOptions,
  exited: Promise<number | null>,
  output: () => string,
): Promise<void> => {
  const ready = waitUntil(
    entry,
    async () => {
      if (readyText !== undefined) return output().includes(readyText);
      return readyUrl === undefined ? true : answersOk(readyUrl);
    },
    READY_MS,
  );
  const ended = exited.then((code) => {
    throw new Error(`it ended with exit code ${code ?? 'none'}`);
  });
  ready.catch(() => undefined);
  ended.catch(() => undefined);
  await Promise.race([ready, ended]);
};
