/**
 * Runs one command of the real CLI over an inline program of the nodejs SDK, in a process of its own as the SDK wants it.
 * Reads `{command, stack, project, workDir, resources, options}` from stdin, writes `{outputs, summary, log, error}` to stdout.
 * `resources` are `[class, name, args]`; an argument `{"output": [name, member]}` is an output of an earlier resource.
 */
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';

const job = JSON.parse(await text(process.stdin));
const require = createRequire(`${job.workDir}/`);
const pulumi = require('@pulumi/pulumi');
const { LocalWorkspace } = require('@pulumi/pulumi/automation');
const provider = require('@keystead/provider');

const program = async () => {
  const made = {};
  const argument = (value) =>
    typeof value === 'object' && value !== null && 'output' in value
      ? made[value.output[0]][value.output[1]]
      : value;
  const outputs = {};
  for (const [kind, name, args, lookup] of job.resources) {
    const inputs = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, argument(value)]));
    made[name] =
      lookup === undefined ? new provider[kind](name, inputs) : provider[kind].get(name, lookup, inputs);
    for (const member of ['machine_id', 'status', 'config_token', 'config_url', 'iso_url', 'hostname'])
      if (made[name][member] !== undefined) outputs[`${name}.${member}`] = made[name][member];
  }
  return outputs;
};

const log = [];
try {
  const stack = await LocalWorkspace.createOrSelectStack(
    { stackName: job.stack, projectName: job.project, program },
    {
      workDir: job.workDir,
      envVars: job.env,
      secretsProvider: job.secretsProvider,
      projectSettings: { name: job.project, runtime: 'nodejs', main: job.workDir },
    },
  );
  const result = await stack[job.command]({ onOutput: (line) => log.push(line), ...job.options });
  console.log(
    JSON.stringify({
      summary: result.summary,
      changes: result.changeSummary,
      outputs: result.outputs,
      log: log.join(''),
    }),
  );
} catch (error) {
  console.log(JSON.stringify({ error: String(error.message), log: log.join('') }));
}
process.exit(0);
