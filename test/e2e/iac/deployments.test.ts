import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deploymentWorld } from '../../support/deployments.js';
import type { DeploymentWorld } from '../../support/deployments.js';
import { eventually, eventuallyHolds } from '../../support/eventually.js';
import { gitServer } from '../../support/git-server.js';
import { pulumiUser, stashProgram } from '../../support/pulumi.js';

/** The real CLI, run by the service, over real git repositories behind https. */
describe('server-side deployments', () => {
  let world: DeploymentWorld;
  let git: Awaited<ReturnType<typeof gitServer>>;
  let repoURL: string;

  beforeAll(async () => {
    git = await gitServer();
    world = await deploymentWorld({
      settings: { SVC_IAC_SOURCE_CIDRS: '127.0.0.0/8', SVC_IAC_SOURCE_CA_FILE: git.caFile },
    });
    const program = (extra = '') => stashProgram('shop', 2, extra);
    repoURL = await git.repository('shop', {
      'Pulumi.yaml': program(),
      'infra/Pulumi.yaml': program('outputs: {where: infra}'),
      'broken/Pulumi.yaml': 'name: shop\nruntime: yaml\nresources:\n  r: {type: no:such:Thing}\n',
      README: 'no program here',
    });
  }, 120_000);
  afterAll(async () => {
    await world.close();
    await git.close();
  });

  const source = (more: object = {}) => ({ source: { repoURL, branch: 'main', ...more } });
  const quick = { PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: 'true' };
  const active = async (stack: string) => (await world.api.get(world.pathOf(stack))).body;
  const slow = (seconds: number, operation = 'update') => ({
    operation,
    operationContext: { preRunCommands: [`echo begun; sleep ${seconds}`], environmentVariables: quick },
    sourceContext: { git: { repoUrl: repoURL, branch: 'refs/heads/main' } },
  });
  const begun = (stack: string, id: string) =>
    eventually(async () => ((await world.look(stack, id)).logs as string).includes('\nbegun') || undefined);

  it('previews, updates, refreshes and destroys', async () => {
    await world.stack('shop/main');
    const run = async (operation: string) => {
      const id = await world.deploy('shop/main', {
        operation,
        ...source({ repoDir: 'infra' }),
        environmentVariables: quick,
      });
      const end = await world.over('shop/main', id);
      if (end.status !== 'succeeded') throw new Error(`${end.reason}\n${end.logs}`);
      return end;
    };
    const preview = await run('preview');
    expect(preview).toMatchObject({ operation: 'preview', exitCode: 0, version: 1 });
    expect(preview.logs).toContain('3 to create');
    expect((await active('shop/main')).version).toBe(0);

    const update = await run('update');
    expect(update.logs).toContain('created');
    expect(Date.parse(update.completedAt)).toBeGreaterThanOrEqual(Date.parse(update.startedAt));
    expect(update.updates).toEqual([expect.objectContaining({ kind: 'update', result: 'succeeded' })]);
    expect(await active('shop/main')).toMatchObject({ version: 1, activeUpdate: '' });
    const state = await world.api.get(`${world.pathOf('shop/main')}/export`);
    expect(state.text).toContain(world.url);

    expect((await run('refresh')).logs).toContain('unchanged');
    expect((await run('destroy')).logs).toContain('deleted');
    const { body } = await world.api.get(`${world.pathOf('shop/main')}/deployments`);
    expect(body.total).toBe(4);
    expect(body.deployments.map((one: { operation: string }) => one.operation)).toEqual([
      ...['destroy', 'refresh', 'update', 'preview'],
    ]);
    expect(await readdir(world.workRoot)).toEqual([]);
  }, 300_000);

  it('runs one at a time on a stack, in order, and keeps going past cancelled ones', async () => {
    await world.stack('shop/queue');
    const ids: string[] = [];
    for (let i = 0; i < 3; i += 1) ids.push(await world.deploy('shop/queue', slow(i === 0 ? 60 : 0)));
    const [first = '', second = '', third = ''] = ids;
    await begun('shop/queue', first);
    expect((await world.look('shop/queue', second)).status).toBe('queued');
    expect((await world.look('shop/queue', third)).status).toBe('queued');

    const cancelPath = (id: string) => `${world.pathOf('shop/queue')}/deployments/${id}/cancel`;
    const cancelled = await world.api.delete(cancelPath(second));
    expect([cancelled.status, cancelled.text]).toEqual([204, '']);
    expect((await world.look('shop/queue', second)).status).toBe('cancelled');
    expect((await world.api.post(cancelPath(first))).status).toBe(200);
    expect(await world.over('shop/queue', third)).toMatchObject({ status: 'succeeded' });
    expect(await world.look('shop/queue', second)).toMatchObject({
      status: 'cancelled',
      startedAt: null,
      logs: '',
    });

    expect((await world.api.delete(cancelPath(third))).status).toBe(204);
    expect((await world.look('shop/queue', third)).status).toBe('succeeded');
    await eventuallyHolds(async () => expect(await readdir(world.workRoot)).toEqual([]));
  }, 300_000);

  it('cancel while cloning ends the clone', async () => {
    await world.stack('shop/clone');
    const release = git.pause();
    const before = git.seen.length;
    const id = await world.deploy('shop/clone', { operation: 'update', ...source() });
    await eventually(() => git.seen.length > before);
    await world.api.delete(`${world.pathOf('shop/clone')}/deployments/${id}/cancel`);
    await eventuallyHolds(async () => expect(await readdir(world.workRoot)).toEqual([]));
    release();
    expect(await world.look('shop/clone', id)).toMatchObject({ status: 'cancelled' });
  }, 120_000);

  it('says what is wrong: branch, folder, program, source', async () => {
    await world.stack('shop/wrong');
    const fails = async (body: object) => {
      const end = await world.over('shop/wrong', await world.deploy('shop/wrong', body));
      expect(end.status).toBe('failed');
      return end;
    };
    expect((await fails({ operation: 'update', ...source({ branch: 'nope' }) })).reason).toContain(
      'refs/heads/nope',
    );
    expect((await fails({ operation: 'update', ...source({ repoDir: 'nowhere' }) })).reason).toContain(
      `'nowhere'`,
    );
    const broken = await fails({
      operation: 'update',
      ...source({ repoDir: 'broken' }),
      environmentVariables: quick,
    });
    expect(broken.exitCode).toBeGreaterThan(0);
    expect(broken.logs).toContain('no:such:Thing');
    expect((await active('shop/wrong')).activeUpdate).toBe('');

    for (const bad of [
      { repoURL: 'ext::sh -c id' },
      { repoURL: '--upload-pack=id' },
      { repoURL: 'file:///etc' },
      { repoURL: 'http://example.com/x.git' },
      { repoURL: 'https://user:pass@example.com/x.git' },
      { repoURL: 'https://169.254.169.254/x.git' },
      { repoURL: 'https://10.0.0.1/x.git' },
      { repoURL: 'ssh://-oProxyCommand=id@host/x' },
      { repoURL: 'git@10.0.0.1:x.git' },
      { branch: '--upload-pack=id' },
      { branch: 'a..b' },
      { repoDir: '../..' },
      { repoDir: '/etc' },
    ]) {
      const answer = await world.api.post(`${world.pathOf('shop/wrong')}/deployments`, {
        operation: 'update',
        ...source(bad),
      });
      expect([bad, [400, 422].includes(answer.status)]).toEqual([bad, true]);
    }
    const without = await world.api.post(`${world.pathOf('shop/wrong')}/deployments`, {
      operation: 'update',
    });
    expect(without.status).toBe(400);
  }, 300_000);

  it('keeps secrets out of logs, rows and history, and lets the run see nothing else', async () => {
    await world.stack('shop/secret');
    process.env['WORKER_ONLY'] = 'worker-only-value';
    git.requirePassword('any');
    const id = await world.deploy('shop/secret', {
      operation: 'preview',
      operationContext: {
        preRunCommands: ['env | sort', 'printf "%s" "$PASSWORD" | cut -c1-4; echo "$PASSWORD" "$PLAIN"'],
        environmentVariables: { ...quick, PASSWORD: { secret: 'hunter2-hunter2' }, PLAIN: 'plain-value' },
      },
      sourceContext: {
        git: { repoUrl: repoURL, branch: 'main', gitAuth: { accessToken: { secret: 'git-pass-word' } } },
      },
    });
    const end = await world.over('shop/secret', id);
    git.requirePassword(undefined);
    expect(end.status).toBe('succeeded');
    expect(end.logs).toContain('hunt\n[secret] [secret]');
    expect(end.logs).toContain('PULUMI_ACCESS_TOKEN=[secret]');
    const basic = Buffer.from('x-access-token:git-pass-word').toString('base64');
    expect(git.seen.map(({ authorization }) => authorization)).toContain(`Basic ${basic}`);

    const rows = JSON.stringify(await world.db('extension_iac_state_deployments').select('*').where({ id }));
    const handle = world.temporal.client.workflow.getHandle(`deployment:${id}`);
    const history = JSON.stringify(await handle.fetchHistory());
    for (const text of [end.logs as string, rows, history]) {
      for (const secret of ['hunter2-hunter2', 'git-pass-word', 'worker-only-value', 'test-iac-token'])
        expect(text).not.toContain(secret);
    }
  }, 120_000);

  it("a deployment's token ends with it and is good for its own stack", async () => {
    await world.stack('shop/token');
    await world.stack('shop/other');
    const id = await world.deploy('shop/token', {
      ...slow(0),
      operationContext: {
        preRunCommands: [
          'call() { curl -s -o /dev/null -w "$1 $2 %{http_code}\\n" -X "$1" -H "Authorization: token $PULUMI_ACCESS_TOKEN" -H "content-type: application/json" -d "{}" "$PULUMI_BACKEND_URL/api/stacks/acme/shop/$2"; }; call DELETE other; call POST other/update; call POST token/deployments; call DELETE token',
        ],
        environmentVariables: quick,
      },
    });
    const { logs } = await world.over('shop/token', id);
    expect(logs.match(/^(DELETE|POST) \S+ \d+$/gm)).toEqual([
      'DELETE other 403',
      'POST other/update 403',
      'POST token/deployments 403',
      'DELETE token 403',
    ]);
    const stored = await world.db('extension_iac_state_deployments').first('token_hash').where({ id });
    expect(stored.token_hash).toBeNull();
  }, 120_000);

  it('streams a log of 10 MB in order', async () => {
    await world.stack('shop/long');
    const body = slow(0, 'preview');
    const id = await world.deploy('shop/long', {
      ...body,
      operationContext: { ...body.operationContext, preRunCommands: ['seq -f "%015.0f" 1 655360'] },
    });
    await world.over('shop/long', id);
    const numbers: number[] = [];
    let token = '0';
    while (token !== '') {
      const { body: page } = await world.api.get(
        `${world.pathOf('shop/long')}/deployments/${id}/logs?continuationToken=${token}`,
      );
      for (const { line } of page.lines as { line: string }[])
        if (/^\d{15}\n$/.test(line)) numbers.push(Number(line));
      token = page.nextToken as string;
    }
    expect(numbers).toHaveLength(655_360);
    expect(numbers.every((value, index) => value === index + 1)).toBe(true);
  }, 180_000);

  it('inherits the settings of the stack, whose secrets never come out', async () => {
    await world.stack('shop/inherits');
    const path = `${world.pathOf('shop/inherits')}/deployments/settings`;
    expect((await world.api.get(path)).status).toBe(404);
    await world.api.post(path, {
      sourceContext: { git: { repoUrl: repoURL, branch: 'main', repoDir: 'nowhere' } },
      operationContext: { environmentVariables: { ...quick, WORD: { secret: 'open-sesame' } } },
    });
    const patched = await world.api.post(path, {
      sourceContext: { git: { repoDir: null } },
      operationContext: { environmentVariables: { WORD: { ciphertext: 'stored' } } },
    });
    expect(patched.body.operationContext.environmentVariables.WORD).toEqual({ ciphertext: 'stored' });
    expect((await world.api.get(path)).text).not.toContain('open-sesame');

    const id = await world.deploy('shop/inherits', {
      operation: 'preview',
      inheritSettings: true,
      operationContext: { preRunCommands: ['test "$WORD" = open-sesame && echo as stored'] },
    });
    const end = await world.over('shop/inherits', id);
    expect([end.status, end.logs]).toEqual(['succeeded', expect.stringContaining('as stored')]);

    const user = await pulumiUser(world.url);
    try {
      await user.program(stashProgram('shop', 1));
      const shown = await user.run('deployment', 'settings', 'get', '--stack', 'acme/shop/inherits');
      expect(shown).toContain(repoURL);
      expect(shown).not.toContain('open-sesame');
    } finally {
      await user.remove();
    }
    expect((await world.api.delete(path)).status).toBe(204);
    expect((await world.api.get(path)).status).toBe(404);
  }, 120_000);

  it('serves the CLI: deployment run, list, get, log and cancel', async () => {
    await world.stack('shop/cli');
    const user = await pulumiUser(world.url);
    try {
      await user.program(stashProgram('shop', 1));
      const stack = ['--stack', 'acme/shop/cli'];
      const run = await user.attempt(
        ...['deployment', 'run', 'preview', repoURL, '--git-branch', 'main', ...stack],
        '--suppress-stream-logs=false',
        ...['--env', 'PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true'],
      );
      expect([run.code, run.stdout + run.stderr]).toEqual([0, expect.stringContaining('3 to create')]);
      expect(await user.run('deployment', 'list', ...stack)).toContain('preview');
      expect(await user.run('deployment', 'get', '1', ...stack)).toContain('succeeded');
      expect(await user.run('deployment', 'log', '1', ...stack)).toContain('3 to create');
      const id = await world.deploy('shop/cli', slow(120));
      await begun('shop/cli', id);
      await user.run('deployment', 'cancel', '2', '--yes', ...stack);
      expect(await world.look('shop/cli', id)).toMatchObject({ status: 'cancelled' });
    } finally {
      await user.remove();
    }
  }, 180_000);
});
