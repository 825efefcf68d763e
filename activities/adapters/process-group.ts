import { spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';

/**
 * A program in a process group of its own. A watcher in the group holds a pipe from this process: when this process dies, whatever
 * the reason, the group is interrupted and, ten seconds later, killed.
 */
const GUARDED = `
trap : INT TERM
{ cat <&3; trap '' TERM; kill -s INT -- -$$; sleep 10; kill -s KILL -- -$$; } >/dev/null 2>&1 &
exec 3<&-
"$@"
`;

export interface GroupCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly onOutput: (text: string) => void;
  /** Interrupts the group; after `graceMs` it is killed. */
  readonly signal: AbortSignal;
  readonly graceMs: number;
}

const NOT_FOUND = 127;

/** Runs until every process of the group is gone. Resolves to the exit code, 128 + n for a signal; never rejects. */
export const runInGroup = (run: GroupCommand): Promise<number> =>
  new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', GUARDED, 'keystead', run.command, ...run.args], {
      cwd: run.cwd,
      env: run.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      const decoder = new StringDecoder('utf8');
      stream.on('data', (bytes: Buffer) => run.onOutput(decoder.write(bytes)));
    }
    const signalGroup = (name: NodeJS.Signals): void => {
      if (child.pid === undefined) return;
      try {
        process.kill(-child.pid, name);
      } catch {
        // The group is gone.
      }
    };
    let deadline: NodeJS.Timeout | undefined;
    const stop = (): void => {
      signalGroup('SIGINT');
      deadline = setTimeout(() => signalGroup('SIGKILL'), run.graceMs);
    };
    if (run.signal.aborted) stop();
    else run.signal.addEventListener('abort', stop, { once: true });

    // What the program left behind ends with it, the watcher too; only then do the pipes close.
    child.on('exit', () => signalGroup('SIGKILL'));
    child.on('error', (error) => {
      run.onOutput(`${error.message}\n`);
      resolve(NOT_FOUND);
    });
    child.on('close', (code) => {
      clearTimeout(deadline);
      run.signal.removeEventListener('abort', stop);
      resolve(code ?? 128 + 9);
    });
  });
