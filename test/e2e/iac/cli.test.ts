import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { iacWorld } from '../../support/iac.js';
import type { IacWorld } from '../../support/iac.js';
import { pulumiUser, stashProgram } from '../../support/pulumi.js';
import type { PulumiUser } from '../../support/pulumi.js';

interface Exported {
  readonly deployment: { readonly resources?: readonly { urn: string; outputs?: Record<string, unknown> }[] };
}

describe('the real CLI', () => {
  let world: IacWorld;
  let user: PulumiUser;
  beforeAll(async () => {
    world = await iacWorld();
    user = await pulumiUser(world.url);
    await user.program(stashProgram('shop', 3, 'outputs: {first: "${r0.output}"}'));
  });
  afterAll(async () => {
    await user.remove();
    await world.close();
  });

  const exported = async () => JSON.parse(await user.run('stack', 'export')) as Exported;

  it('logs in, makes a stack, and updates it', async () => {
    expect(await user.run('whoami')).toContain('acme');
    await user.run('stack', 'init', 'dev');
    expect(await user.run('stack', 'ls')).toContain('dev');
    await user.run('config', 'set', 'plain', 'text');
    await user.run('config', 'set', '--secret', 'password', 'hunter2');
    expect(await user.run('config', 'get', 'password')).toContain('hunter2');
    await user.run('preview');
    expect((await exported()).deployment.resources ?? []).toHaveLength(0);
    await user.run('up', '--yes');
    expect((await exported()).deployment.resources).toHaveLength(5);
    expect(await user.run('stack', 'output', 'first')).toContain('v0');
  });
});
