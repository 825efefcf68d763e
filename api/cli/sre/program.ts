import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import * as commands from './commands.js';
import type { SreDeps } from './context.js';

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `30m`, `12h`, `7d` in milliseconds. */
const period = (text: string): number => {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('a number and m, h or d, such as 30m, 12h, 7d');
  return Number(count) * (unitMs[unit ?? ''] ?? 0);
};

const natural = (text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('a whole number');
  return Number(text);
};

const output = (): Option =>
  new Option('-o, --output <format>', 'how to print').choices(['table', 'json']).default('table');
const runId = (): Option => new Option('--run-id <id>', 'this run instead of the latest');
const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  $ npm run -s sre -- ${line}`).join('\n')}`;

type Action = (work: Promise<number>) => Promise<void>;

const addReading = (program: Command, deps: SreDeps, finish: Action): void => {
  program
    .command('failed')
    .description('failed, timed-out and terminated workflows, and running ones that make no progress')
    .option('--since <period>', 'closed ones of this period', period, 7 * 86_400_000)
    .option('--type <workflow type>', 'only this type')
    .option('--attempts <n>', 'stuck: a task or activity was tried more often than this', natural, 3)
    .option('--idle <seconds>', 'stuck: no worker took a task for so long', natural, 60)
    .option('--limit <n>', 'at most so many closed and so many running ones', natural, 200)
    .option('--check', 'exit code 1 when there are any (for monitors)')
    .addOption(output())
    .addHelpText('after', examples('failed', 'failed --since 24h --type approvalWindow -o json'))
    .action((options: commands.FailedOptions) => finish(commands.failed(deps, options)));
  program
    .command('replay')
    .description('replay a history against the workflow code of this build; exit code 1 when they part')
    .argument('[workflow id]')
    .option('--file <path>', 'a history exported before')
    .addOption(runId())
    .addHelpText('after', examples('replay approval:<machine id>', 'replay --file history.json'))
    .action((id: string | undefined, options: commands.ReplayOptions) =>
      finish(commands.replay(deps, id, options)),
    );
  program
    .command('export-history')
    .description('the history of a workflow as JSON, for replay and for test/replay/histories')
    .argument('<workflow id>')
    .option('--out <path>', 'write it there instead of printing it')
    .addOption(runId())
    .addHelpText('after', examples('export-history revoke:<machine id> --out revoke.json'))
    .action((id: string, options: { out?: string; runId?: string }) =>
      finish(commands.exportHistory(deps, id, options)),
    );
  program
    .command('doctor')
    .description('check configuration, database, Temporal, workers, keys and clocks, and say what to do')
    .option('--strict', 'exit code 1 on warnings too')
    .addOption(output())
    .addHelpText('after', examples('doctor', 'doctor --strict -o json'))
    .action((options: { output: 'table' | 'json'; strict?: true }) => finish(commands.doctor(deps, options)));
};

const addRecovery = (program: Command, deps: SreDeps, finish: Action): void => {
  program
    .command('reset')
    .description('end the run and go on from an earlier point; what came after it is done again')
    .argument('<workflow id>')
    .requiredOption('--to <point...>', 'first-workflow-task, last-workflow-task or event N')
    .option('--reason <text>', 'kept in the history', 'reset by sre')
    .addOption(runId())
    .addHelpText(
      'after',
      examples(
        'reset provision:<subscription id> --to last-workflow-task',
        'reset revoke:<id> --to event 10',
      ),
    )
    .action((id: string, options: commands.ResetOptions) => finish(commands.reset(deps, id, options)));
  program
    .command('rerun')
    .description('start a closed workflow again with the same type, input, queue and id')
    .argument('<workflow id>')
    .addOption(runId())
    .addHelpText('after', examples('rerun image:<machine id>'))
    .action((id: string, options: { runId?: string }) => finish(commands.rerun(deps, id, options)));
};

/** Runs one command line (without `node` and the script). Returns the exit code: 0, 1 for a bad finding or error, 2 for usage. */
export const runSre = async (args: readonly string[], deps: SreDeps): Promise<number> => {
  let code = 0;
  const finish: Action = async (work) => {
    code = await work;
  };
  const program = new Command('sre')
    .description('Tools for those who keep Keystead running. Settings: docs/configuration.md')
    .configureOutput({
      writeOut: (text) => deps.out(text.trimEnd()),
      writeErr: (text) => deps.err(text.trimEnd()),
    })
    .exitOverride()
    .addHelpText('after', examples('doctor', 'failed', 'replay approval:<machine id>'));
  addReading(program, deps, finish);
  addRecovery(program, deps, finish);
  try {
    await program.parseAsync([...args], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    deps.err(`error: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
};
