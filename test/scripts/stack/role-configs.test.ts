import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { createRoleConfigs } from '../../../activities/broker/role-configs.js';
import { ensureRoleConfigs } from '../../../scripts/stack/role-configs.js';
import { nodeVerdicts } from '../../support/node-config-check.js';

interface SampleConfig {
  readonly machine: { readonly ca: { readonly key: string } };
  readonly cluster: { readonly secretboxEncryptionSecret?: string; readonly ca: { readonly key: string } };
}

const GO_BUILD_MS = 300_000;
const names = ['controlplane-final.yaml', 'worker-app-final.yaml', 'worker-infra-final.yaml'];

describe('sample role configs', () => {
  let folder: string;
  let configs: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keystead-configs-'));
    configs = join(folder, 'configs');
    await ensureRoleConfigs(configs);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const sample = async (name: string) =>
    parse(await readFile(join(configs, name), 'utf8')) as unknown as SampleConfig;

  it(
    'are accepted by the loader of the node OS, and a broken one is not',
    async () => {
      const broken = join(folder, 'broken.yaml');
      const text = await readFile(join(configs, names[0]!), 'utf8');
      await writeFile(broken, text.replace(/^ {2}type: .*$/m, '  type: spectator'));
      const verdicts = await nodeVerdicts([...names.map((name) => join(configs, name)), broken]);
      expect(verdicts.slice(0, 3)).toEqual([
        `ok ${join(configs, names[0]!)} controlplane`,
        `ok ${join(configs, names[1]!)} worker`,
        `ok ${join(configs, names[2]!)} worker`,
      ]);
      expect(verdicts[3]).toMatch(/^refused .*broken.yaml/);
    },
    GO_BUILD_MS,
  );

  it(
    'are still accepted with the overrides of a machine',
    async () => {
      const roleConfigs = createRoleConfigs({
        dir: configs,
        installerImage: 'registry.example/installer:v1.9.5',
      });
      const rendered = join(folder, 'rendered.yaml');
      const text = await roleConfigs.render('controlplane', {
        machineId: '6f1d7d2c-5b1e-4c9f-8a55-0d9b7c1f2e3a',
        ekFingerprint: 'abcdef0123456789'.repeat(6),
        hostname: 'cp-1',
        assignedIp: '192.0.2.10/24',
        files: [{ path: '/var/lib/keystead/enrollment.key', permissions: 0o400, content: 'x\n' }],
      });
      await writeFile(rendered, text);
      expect(await nodeVerdicts([rendered])).toEqual([`ok ${rendered} controlplane`]);
    },
    GO_BUILD_MS,
  );

  it('keep the keys of the cluster from the workers', async () => {
    const worker = await sample('worker-app-final.yaml');
    const controlPlane = await sample('controlplane-final.yaml');
    expect(worker.machine.ca.key).toBe('');
    expect(worker.cluster.ca.key).toBe('');
    expect(worker.cluster.secretboxEncryptionSecret).toBeUndefined();
    expect(Buffer.from(controlPlane.machine.ca.key, 'base64').toString()).toContain('PRIVATE KEY');
  });

  it('are made once, private to their owner', async () => {
    const before = await readFile(join(configs, names[0]!), 'utf8');
    await ensureRoleConfigs(configs);
    expect(await readFile(join(configs, names[0]!), 'utf8')).toBe(before);
    expect((await readdir(configs)).sort()).toEqual(names);
    for (const name of names) expect((await stat(join(configs, name))).mode & 0o777).toBe(0o600);
  });
});
