import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { errorCollector, IAC_TOKEN, iacWorld } from '../../support/iac.js';
import type { IacWorld } from '../../support/iac.js';
import { exportedState, pendingNames, pulumiUser, stashNames, stashProgram } from '../../support/pulumi.js';
import type { PulumiUser } from '../../support/pulumi.js';

interface HistoryEntry {
  readonly kind: string;
  readonly result: string;
  readonly version: number;
  readonly resourceChanges?: Record<string, number>;
}

/** Resources that a CLI creates at once. */
const PARALLEL = 4;

/**
 * `inFlight`: how many resources a killed CLI may have created without telling the server in any way. In verbatim
 * form it leaves out the pending operations of fewer than ten resources; in the other two it tells of each beforehand.
 */
const lanes = [
  { lane: 'journal', version: '3.259.0', env: {}, inFlight: 0 },
  {
    lane: 'verbatim and delta',
    version: '3.259.0',
    env: { PULUMI_DISABLE_JOURNALING: 'true' },
    inFlight: PARALLEL,
  },
  {
    lane: 'plain checkpoints',
    version: '3.259.0',
    env: { PULUMI_DISABLE_JOURNALING: 'true', PULUMI_OPTIMIZED_CHECKPOINT_PATCH: 'false' },
    inFlight: 0,
  },
  { lane: 'an older CLI, from before the journal', version: '3.220.0', env: {}, inFlight: PARALLEL },
];

describe.each(lanes)('the real CLI $version ($lane)', ({ version, env, inFlight }) => {
  let world: IacWorld;
  let user: PulumiUser;
  const { log, errors } = errorCollector();
  beforeEach(async () => {
    world = await iacWorld({ log });
    user = await pulumiUser(world.url, { version, env });
  });
  afterEach(async () => {
    await user.remove();
    await world.close();
    expect(errors).toEqual([]);
  });

  const history = async () => JSON.parse(await user.run('stack', 'history', '--json')) as HistoryEntry[];
  const versions = async () =>
    (await history()).map((entry) => `${entry.version} ${entry.kind} ${entry.result}`);

  it('takes a stack through its whole life', async () => {
    await user.program(stashProgram('shop', 3, 'outputs: {first: "${r0.output}"}'));
    expect(await user.run('login', world.url)).toContain('Logged in');
    expect(await user.run('whoami')).toContain('acme');
    await user.run('stack', 'init', 'dev');
    expect((await user.attempt('stack', 'init', 'dev')).stderr).toContain('already exists');
    expect(await user.run('stack', 'ls')).toMatch(/dev\*?\s+n\/a\s+0|dev/);

    await user.run('preview');
    expect(await history()).toEqual([]);
    await user.run('up', '--yes', '--message', 'first');
    expect(stashNames(await exportedState(user))).toEqual(['r0', 'r1', 'r2']);
    expect(await user.run('stack', 'output', 'first')).toContain('v0');

    await user.program(stashProgram('shop', 4));
    await user.run('up', '--yes', '--skip-preview');
    await user.run('refresh', '--yes', '--skip-preview');
    await user.run('refresh', '--preview-only');
    expect(stashNames(await exportedState(user))).toEqual(['r0', 'r1', 'r2', 'r3']);
    expect(stashNames(await exportedState(user, '1'))).toEqual(['r0', 'r1', 'r2']);
    expect(await versions()).toEqual(['3 refresh succeeded', '2 update succeeded', '1 update succeeded']);
    expect((await history())[2]?.resourceChanges).toEqual({ create: 4 });

    await user.run('stack', 'tag', 'set', 'team', 'platform');
    expect(await user.run('stack', 'tag', 'get', 'team')).toContain('platform');
    await user.run('stack', 'tag', 'rm', 'team');
    expect((await user.attempt('stack', 'tag', 'get', 'team')).code).not.toBe(0);

    expect((await user.attempt('stack', 'rm', 'dev', '--yes')).stderr).toContain('still has resources');
    await user.run('destroy', '--yes', '--skip-preview');
    expect(stashNames(await exportedState(user))).toEqual([]);
    await user.run('stack', 'rm', 'dev', '--yes');
    expect(await user.run('stack', 'ls', '--json')).toBe('[]\n');
  });

  it('keeps secrets in config and state through import and rename', async () => {
    const program = stashProgram('shop', 1).replace(
      'resources:',
      'config: {password: {type: string, secret: true}}\nresources:\n  hidden: {type: pulumi:index:Stash, properties: {input: "${password}"}}',
    );
    await user.program(program);
    await user.run('stack', 'init', 'dev');
    await user.run('config', 'set', '--secret', 'password', 'hunter2');
    expect(await user.run('config', 'get', 'password')).toBe('hunter2\n');
    const file = await readFile(join(user.dir, 'Pulumi.dev.yaml'), 'utf8');
    expect(Buffer.from(/secure: (\S+)/.exec(file)?.[1] ?? '', 'base64').toString()).toMatch(/^v1:/);
    await user.run('up', '--yes', '--skip-preview');
    expect(JSON.stringify(await exportedState(user))).not.toContain('hunter2');
    expect(await user.run('stack', 'export', '--show-secrets')).toContain('hunter2');

    const file1 = join(user.dir, 'state.json');
    await user.run('stack', 'export', '--file', file1);
    await user.run('stack', 'import', '--file', file1);
    expect((await versions())[0]).toBe('2 import succeeded');

    await user.run('stack', 'rename', 'prod');
    const state = JSON.stringify(await exportedState(user));
    expect(state).toContain('urn:pulumi:prod::shop::');
    expect(state).not.toContain('urn:pulumi:dev::');
    expect(await user.run('config', 'get', 'password')).toBe('hunter2\n');
    expect(await user.run('up', '--yes', '--skip-preview', '--expect-no-changes')).toContain('unchanged');
    expect(await versions()).toEqual([
      '4 update succeeded',
      '3 rename succeeded',
      '2 import succeeded',
      '1 update succeeded',
    ]);
    expect(await user.run('stack', 'export', '--show-secrets')).toContain('hunter2');
  });

  it('reads outputs of another stack', async () => {
    await user.program(stashProgram('base', 1, 'outputs: {name: "${r0.output}"}'));
    await user.run('stack', 'init', 'one');
    await user.run('up', '--yes', '--skip-preview');
    await user.program(
      stashProgram(
        'top',
        1,
        '  ref: {type: pulumi:pulumi:StackReference, properties: {name: acme/base/one}}\noutputs: {seen: "${ref.outputs[\\"name\\"]}"}',
      ),
    );
    await user.run('stack', 'init', 'two');
    await user.run('up', '--yes', '--skip-preview');
    expect(await user.run('stack', 'output', 'seen')).toBe('v0\n');
  });

  it('refuses a second update, and loses nothing when the first is killed and cancelled', async () => {
    await user.program(stashProgram('shop', 60));
    await user.run('stack', 'init', 'dev');
    const first = user.start(['up', '--yes', '--skip-preview', '--parallel', String(PARALLEL)]);
    const created = new Set<string>();
    await new Promise<void>((resolve) => {
      first.child.stdout?.on('data', (text: string) => {
        for (const [, name] of text.matchAll(/Stash (r\d+) created/g)) created.add(name ?? '');
        if (created.size >= 10) resolve();
      });
    });
    const second = await user.attempt('up', '--yes', '--skip-preview');
    expect(second.stderr).toMatch(/409.*in progress: update by acme, started .*lease ends/s);
    first.child.kill('SIGKILL');
    await first.result;
    await user.run('cancel', '--yes');
    const state = await exportedState(user);
    const known = new Set([...stashNames(state), ...pendingNames(state)]);
    expect([...created].filter((name) => !known.has(name)).length).toBeLessThanOrEqual(inFlight);
    await user.run('refresh', '--yes', '--skip-preview', '--clear-pending-creates');
    await user.run('up', '--yes', '--skip-preview');
    expect(stashNames(await exportedState(user))).toHaveLength(60);
    expect((await versions()).at(-1)).toBe('1 update failed');
  });
});

describe('a wrong token', () => {
  it('is refused at login, and neither it nor the right one is ever logged', async () => {
    const lines: string[] = [];
    const note = (fields: object) => void lines.push(JSON.stringify(fields));
    const world = await iacWorld({ log: { debug: note, info: note, warn: note, error: note } });
    const user = await pulumiUser(world.url, { env: { PULUMI_ACCESS_TOKEN: 'wrong-token' } });
    expect((await user.attempt('whoami')).code).not.toBe(0);
    const right = await pulumiUser(world.url);
    await right.run('whoami');
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.join('\n')).not.toMatch(new RegExp(`wrong-token|${IAC_TOKEN}`));
    await user.remove();
    await right.remove();
    await world.close();
  });
});
