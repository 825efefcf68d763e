import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parse, parseAllDocuments } from 'yaml';
import { createRoleConfigs } from '../../../activities/broker/role-configs.js';
import type { NodeConfigOverrides } from '../../../domain/broker/node-config.js';
import { pendingConfig } from '../../../domain/broker/node-config.js';
import type { Role } from '../../../domain/broker/machine.js';

const IMAGE = 'registry.example/installer:v1.9.5';
const machine: NodeConfigOverrides = {
  machineId: '6f1d7d2c-5b1e-4c9f-8a55-0d9b7c1f2e3a',
  ekFingerprint: 'abcdef0123456789'.repeat(6),
  hostname: 'cp-1',
  assignedIp: '10.1.2.3/24',
};
const BASE = `# made by the node OS tool
version: v1alpha1 # the schema
debug: false
machine:
  type: controlplane
  token: abc.def0123456789
  network:
    interfaces:
      - deviceSelector:
          busPath: "0*"
        addresses:
          - 192.168.0.9/24
        dhcp: false
      - interface: eth1
        addresses: [10.9.9.9/8]
  nodeLabels:
    site: "017"
  files:
    - content: "a: b"
      permissions: 0644
      path: /var/x
      op: create
cluster:
  secret: MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=
  big: 12345678901234567890
  when: 2026-01-02
  answer: yes
`;

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'role-configs-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const put = (text: string, role: Role = 'controlplane'): Promise<void> =>
  writeFile(join(dir, `${role}-final.yaml`), text);
const configs = () => createRoleConfigs({ dir, installerImage: IMAGE });
const render = async (text: string, overrides: Partial<NodeConfigOverrides> = {}): Promise<string> => {
  await put(text);
  return configs().render('controlplane', { ...machine, ...overrides });
};

describe('a rendered role config', () => {
  it('carries every override of the specification, and keeps the rest', async () => {
    const config = parse(await render(BASE)) as Record<string, Record<string, unknown>>;
    expect(config['machine']).toMatchObject({
      type: 'controlplane',
      token: 'abc.def0123456789',
      install: { image: IMAGE },
      network: {
        hostname: 'cp-1',
        interfaces: [
          { deviceSelector: { busPath: '0*' }, addresses: ['10.1.2.3/24'], dhcp: false },
          { interface: 'eth1', addresses: ['10.9.9.9/8'] },
        ],
      },
      nodeLabels: {
        site: '017',
        'svc.io/machine-id': machine.machineId,
        'svc.io/tpm-ek': 'abcdef0123456789',
        'svc.io/attested': 'true',
      },
      nodeAnnotations: {
        'svc.io/tpm-ek-full': machine.ekFingerprint,
        'svc.io/machine-id': machine.machineId,
      },
    });
  });

  it('leaves every scalar that it does not set as it was written, and the comments', async () => {
    const text = await render(BASE);
    for (const kept of [
      '# made by the node OS tool',
      'version: v1alpha1 # the schema',
      'permissions: 0644',
      'site: "017"',
      'big: 12345678901234567890',
      'when: 2026-01-02',
      'answer: yes',
      'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=',
    ])
      expect(text).toContain(kept);
  });

  it('quotes what it sets, so that no reader takes it for something else', async () => {
    for (const hostname of ['true', '0123', 'null', '1e3', 'no', '~', 'a: b', '- x', '"', '#c', '&a', '{{'])
      expect(parse(await render(BASE, { hostname })) as unknown).toMatchObject({
        machine: { network: { hostname } },
      });
    expect(await render(BASE, { hostname: 'no' })).toContain('hostname: "no"');
  });

  it('sets neither hostname nor address where the operator gave none', async () => {
    const config = parse(await render(BASE, { hostname: null, assignedIp: null })) as {
      machine: { network: { hostname?: string; interfaces: { addresses: string[] }[] } };
    };
    expect(config.machine.network.hostname).toBeUndefined();
    expect(config.machine.network.interfaces[0]!.addresses).toEqual(['192.168.0.9/24']);
  });

  it.each([
    ['no network', 'machine:\n  type: worker\n'],
    ['an empty machine', 'machine:\n'],
    ['empty maps and lists', 'machine: {network: {interfaces: []}, nodeLabels: {}, install: {}}\n'],
    ['nulls', 'machine:\n  network: ~\n  nodeLabels: null\n  install:\n    image:\n'],
    ['an empty first interface', 'machine:\n  network:\n    interfaces:\n      -\n'],
  ])('is made from a base with %s', async (_what, text) => {
    expect(parse(await render(text)) as unknown).toMatchObject({
      machine: {
        install: { image: IMAGE },
        network: { hostname: 'cp-1', interfaces: [{ interface: 'eth0', addresses: ['10.1.2.3/24'] }] },
        nodeLabels: { 'svc.io/attested': 'true' },
      },
    });
  });

  it('keeps an installer image that the base names', async () => {
    const text = await render('machine:\n  install:\n    image: mine:1\n    disk: /dev/sda\n');
    expect(parse(text) as unknown).toMatchObject({
      machine: { install: { image: 'mine:1', disk: '/dev/sda' } },
    });
  });

  it('adds the files of an offline bundle after those of the base', async () => {
    const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
    const text = await render(BASE, {
      files: [
        { path: '/var/lib/svc-tpm/enrollment.crt', permissions: 0o444, content: pem },
        { path: '/var/lib/svc-tpm/enrollment.key', permissions: 0o400, content: `${pem}ü\u0085` },
      ],
    });
    const { machine: rendered } = parse(text) as { machine: { files: unknown[] } };
    expect(rendered.files.slice(1)).toEqual([
      { path: '/var/lib/svc-tpm/enrollment.crt', permissions: 0o444, content: pem, op: 'create' },
      { path: '/var/lib/svc-tpm/enrollment.key', permissions: 0o400, content: `${pem}ü\u0085`, op: 'create' },
    ]);
    expect(rendered.files[0]).toMatchObject({ path: '/var/x' });
    expect(text).toContain('permissions: 0o400');
  });

  it('keeps the other documents of the file', async () => {
    const other = 'apiVersion: v1alpha1\nkind: WatchdogTimerConfig\ndevice: /dev/watchdog0\n';
    const text = await render(`---\n${BASE}---\n${other}`);
    const documents = parseAllDocuments(text).map((document) => document.toJS() as Record<string, unknown>);
    expect(documents).toHaveLength(2);
    expect(documents[1]).toEqual({
      apiVersion: 'v1alpha1',
      kind: 'WatchdogTimerConfig',
      device: '/dev/watchdog0',
    });
    expect(documents[0]).toMatchObject({ machine: { network: { hostname: 'cp-1' } } });
  });

  it('never mixes machines, whatever the order', async () => {
    await put(BASE);
    const subject = configs();
    const names = Array.from({ length: 50 }, (_, n) => `node-${n % 10}`);
    const texts = await Promise.all(
      names.map((hostname) => subject.render('controlplane', { ...machine, hostname })),
    );
    texts.forEach((text, n) => {
      expect(text.match(/hostname: "(.*)"/)?.[1]).toBe(names[n]);
    });
    expect(await subject.render('controlplane', { ...machine, hostname: null })).not.toContain('hostname');
  });

  it('follows its file', async () => {
    await put(BASE);
    const subject = configs();
    const before = await subject.render('controlplane', machine);
    await put(BASE.replace('abc.def0123456789', 'xyz.def0123456789'));
    await utimes(join(dir, 'controlplane-final.yaml'), 1, 1);
    const after = await subject.render('controlplane', machine);
    expect(after).toBe(before.replace('abc.def0123456789', 'xyz.def0123456789'));
    await rm(join(dir, 'controlplane-final.yaml'));
    await expect(subject.render('controlplane', machine)).rejects.toMatchObject({
      code: 'base_config_missing',
    });
  });

  it('holds any text an operator may give, byte for byte', async () => {
    await put(BASE);
    const subject = configs();
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 80 }), async (hostname) => {
        const text = await subject.render('controlplane', { ...machine, hostname });
        expect((parse(text) as { machine: { network: { hostname: string } } }).machine.network.hostname).toBe(
          hostname,
        );
      }),
      { numRuns: 200 },
    );
  });
});

describe('a base that cannot be used is 503, with one text', () => {
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'.replace(/./g, (c) => `${c}: &${c} [${`*${String.fromCharCode(c.charCodeAt(0) - 1)},`.repeat(9)}]\n`)}machine: {}\n`;
  it.each([
    ['a list', '- machine\n'],
    ['a scalar', 'machine\n'],
    ['nothing', ''],
    ['only comments', '# machine:\n'],
    ['a map without machine', 'cluster: {}\n'],
    ['two machine configs', 'machine: {}\n---\nmachine: {}\n'],
    ['broken YAML', 'machine: {\n'],
    ['duplicate keys', 'machine: {}\nmachine: {}\n'],
    ['an alias bomb', bomb],
    ['text where a map belongs', 'machine: yes\n'],
    ['a list where a map belongs', 'machine:\n  nodeLabels: [a]\n'],
    ['a map where a list belongs', 'machine:\n  network:\n    interfaces: {a: b}\n'],
    ['100,000 levels', `machine: ${'['.repeat(100_000)}\n`],
    ['more than 1 MiB', `machine: {}\n#${'x'.repeat(1_048_576)}\n`],
  ])('%s', async (_what, text) => {
    await put(text, 'worker-app');
    await expect(configs().render('worker-app', machine)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'Base config not available',
      code: 'base_config_unusable',
    });
  });

  it('no file', async () => {
    await expect(configs().render('windows', machine)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'Base config not available',
      code: 'base_config_missing',
    });
  });
});

describe('the pending config', () => {
  it('is a machine config without a secret', () => {
    const url = 'https://broker.example/a"b#c';
    expect(parse(pendingConfig(url)) as unknown).toEqual({
      version: 'v1alpha1',
      debug: false,
      persist: true,
      machine: {
        type: 'worker',
        env: { SVC_REG_URL: url },
        nodeLabels: {
          'svc.io/status': 'pending-approval',
          'svc.io/managed-by': 'talos',
          'svc.io/flavor': 'controlplane-stack',
        },
      },
      cluster: { id: expect.any(String), secret: '' },
    });
  });
});
