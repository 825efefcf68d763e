import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startOidcIssuer } from '../../../scripts/stack/oidc/issuer.js';
import { softwareEk } from '../../support/ek.js';
import { eventuallyHolds } from '../../support/eventually.js';
import { httpClient } from '../../support/http.js';
import { buildProvider, providerConsumer } from '../../support/provider/consumer.js';
import type { ProviderConsumer, ProviderRun } from '../../support/provider/consumer.js';
import { ADMIN_TOKEN, brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

/** The real CLI and SDK against a running broker, which also keeps the state. */
describe('the provider package, driven by the real CLI', () => {
  let broker: BrokerWorld;
  let user: ProviderConsumer;
  let issuer: Awaited<ReturnType<typeof startOidcIssuer>>;

  beforeAll(async () => {
    await buildProvider();
    issuer = await startOidcIssuer({ port: 0 });
    broker = await brokerWorld({
      worker: true,
      settings: { SVC_OIDC_ISSUER: issuer.url, SVC_DUAL_CONTROL_ROLES: 'controlplane' },
    });
    user = await providerConsumer(broker.urls[0]!, broker.config.SVC_IAC_ORG);
  }, 120_000);
  afterAll(async () => {
    await user.remove();
    await broker.close();
    await issuer.stop();
  });

  const connection = () => ({ endpoint: broker.urls[0]!, token: ADMIN_TOKEN });
  const machine = (args: object) => ['RegisteredMachine', 'node', { ...connection(), ...args }] as const;
  const approval = (args: object) =>
    [
      'MachineApproval',
      'approval',
      { ...connection(), machine_id: { output: ['node', 'machine_id'] }, ...args },
    ] as const;
  const succeeded = (run: ProviderRun): ProviderRun => {
    if (run.error !== undefined) throw new Error(`${run.error}\n${run.log}`);
    return run;
  };
  const idIn = (run: ProviderRun): string => succeeded(run).outputs['node.machine_id']!.value as string;
  const live = async (id: string) => (await broker.admin.get(`/api/v1/machines/${id}`)).body;
  const act = (id: string, name: string) => broker.admin.post(`/api/v1/machines/${id}/${name}`, {});
  const actions = async (id: string) =>
    (await broker.admin.get(`/api/v1/audit?machine_id=${id}`)).body.map(
      (row: { action: string }) => row.action,
    );

  it('up creates and approves, a lock outside shows as drift, destroy revokes', async () => {
    const ek = softwareEk();
    const resources = [
      machine({ ...ek, hw_serial: 'S1', hw_mac: 'AA-BB-CC-00-00-01', desired_role: 'worker-app' }),
      approval({ role: 'worker-infra', hostname: 'n1.example', assigned_ip: '10.0.0.9/24' }),
    ];
    const up = await user.run('up', 'main', resources);
    const id = idIn(up);
    expect(up.outputs['node.config_token']).toMatchObject({ secret: true });
    expect(up.outputs['node.config_url']).toMatchObject({ secret: true });
    expect(up.outputs['node.iso_url']!.value).toBe('https://images.test/node.iso');
    expect(await live(id)).toMatchObject({
      ...{ status: 'registered', role: 'worker-infra', hostname: 'n1.example' },
      ...{ assigned_ip: '10.0.0.9/24', hw_serial: 'S1', hw_mac: 'aa:bb:cc:00:00:01' },
    });
    expect(await actions(id)).toContain('approve');

    await broker.node.post('/api/v1/attest', ek);
    succeeded(await user.run('refresh', 'main', resources));
    const quiet = succeeded(await user.run('preview', 'main', resources));
    expect(quiet.changes).toEqual({ same: 3 });

    const stored = await broker.admin.get(`/api/stacks/${broker.config.SVC_IAC_ORG}/machines/main/export`, {
      authorization: 'token test-iac-token',
    });
    expect(stored.status).toBe(200);
    for (const secret of [ADMIN_TOKEN, ek.ek_cert_pem, up.outputs['node.config_token']!.value as string]) {
      expect(stored.text).not.toContain(secret);
    }

    await act(id, 'lock');
    succeeded(await user.run('refresh', 'main', resources));
    const drifted = succeeded(await user.run('preview', 'main', resources));
    expect(drifted.changes).toMatchObject({ replace: 2 });
    const refused = await user.run('up', 'main', resources);
    expect(refused.error).toContain('register machine: this machine is locked (HTTP 409)');
    expect((await live(id)).status).toBe('locked');

    succeeded(await user.run('destroy', 'main', resources));
    expect((await live(id)).status).toBe('revoked');
  }, 240_000);

  it('updates hardware and approval in place; other hardware is another machine', async () => {
    const [first, second] = [softwareEk(), softwareEk()];
    const id = idIn(
      await user.run('up', 'change', [
        machine({ ...first, hw_serial: 'S1' }),
        approval({ role: 'worker-app' }),
      ]),
    );
    const changed = await user.run('up', 'change', [
      machine({ ...first, hw_serial: 'S2' }),
      approval({ role: 'worker-infra', hostname: 'n2.example' }),
    ]);
    expect(idIn(changed)).toBe(id);
    expect(await live(id)).toMatchObject({ hw_serial: 'S2', role: 'worker-infra', hostname: 'n2.example' });
    const replaced = await user.run('up', 'change', [
      machine({ ...second, hw_serial: 'S2' }),
      approval({ role: 'worker-infra', hostname: 'n2.example' }),
    ]);
    expect(idIn(replaced)).not.toBe(id);
    expect((await live(id)).status).toBe('revoked');
    expect((await live(idIn(replaced))).status).toBe('registered');
  }, 240_000);

  it('a replacement that comes upon the same machine does not revoke it', async () => {
    const ek = softwareEk();
    const resource = (name: string) => ['RegisteredMachine', name, { ...connection(), ...ek }] as const;
    const up = succeeded(await user.run('up', 'renamed', [resource('before')]));
    const id = up.outputs['before.machine_id']!.value as string;
    const renamed = succeeded(await user.run('up', 'renamed', [resource('after')]));
    expect(renamed.summary?.resourceChanges).toMatchObject({ create: 1, delete: 1 });
    expect(renamed.outputs['after.machine_id']!.value).toBe(id);
    expect((await live(id)).status).toBe('registered');
  }, 240_000);

  it('keep_on_delete leaves the machine in service', async () => {
    const resources = [
      machine({ ...softwareEk(), keep_on_delete: true }),
      approval({ role: 'worker-app', keep_on_delete: true }),
    ];
    const id = idIn(await user.run('up', 'kept', resources));
    succeeded(await user.run('destroy', 'kept', resources));
    expect((await live(id)).status).toBe('registered');
  }, 240_000);

  it('looks up a machine that is registered already', async () => {
    const ek = softwareEk();
    const { body } = await broker.node.post('/api/v1/register', { ...ek, hw_serial: 'S9' });
    const lookup = ['RegisteredMachine', 'node', connection(), body.machine_id as string] as const;
    const up = await user.run('up', 'looked-up', [lookup]);
    expect(idIn(up)).toBe(body.machine_id);
    expect(up.outputs['node.status']!.value).toBe('registered');
    const unknown = await user.run('up', 'unknown', [
      ['RegisteredMachine', 'node', connection(), '00000000-0000-4000-8000-000000000000'],
    ]);
    expect(unknown.error).toContain('is not known at');
  }, 240_000);

  it('quotes what the service says, and checks inputs before it asks', async () => {
    const mismatch = await user.run('up', 'mismatch', [
      machine({ ...softwareEk(), ek_fingerprint: 'ab'.repeat(48) }),
    ]);
    expect(mismatch.error).toMatch(/register machine: .*fingerprint.* \(HTTP 4\d\d\)/i);
    const unknownRole = await user.run('preview', 'mismatch', [
      machine({ ...softwareEk(), desired_role: 'king' }),
    ]);
    expect(unknownRole.error).toContain('must be one of controlplane, worker-infra, worker-app');
    const noToken = await user.run('up', 'mismatch', [
      machine(softwareEk()),
      approval({ role: 'worker-app', token: 'wrong' }),
    ]);
    expect(noToken.error).toContain('operator authentication required');
  }, 240_000);

  it('waits for the second vote, gives up in time, and goes on with the next up', async () => {
    const ann = await issuer.tokenFor('ann');
    const ben = httpClient(broker.urls[0]!, { authorization: `Bearer ${await issuer.tokenFor('ben')}` });
    const ek = softwareEk();
    const proposal = { role: 'controlplane', hostname: 'cp1.example', token: ann };
    const resources = (seconds: number) => [
      machine({ ...ek, desired_role: 'controlplane' }),
      approval({ ...proposal, approval_timeout_seconds: seconds }),
    ];
    const lone = await user.run('up', 'dual', resources(1));
    expect(lone.error).toContain('needs the vote of a second operator');
    const { body: pending } = await broker.admin.get('/api/v1/machines?status=pending_approval');
    const id = pending[0].machine_id as string;
    const vote = () =>
      ben.post(`/api/v1/machines/${id}/approve`, { role: 'controlplane', hostname: 'cp1.example' });
    expect((await vote()).status).toBe(200);

    const resumed = succeeded(await user.run('up', 'dual', resources(600)));
    expect(resumed.outputs['approval.status']!.value).toBe('registered');
    expect(await live(id)).toMatchObject({ status: 'registered', role: 'controlplane' });
    expect((await broker.admin.get(`/api/v1/machines/${id}/approvals`)).body).toEqual([]);

    const other = softwareEk();
    const run = user.run('up', 'dual-at-once', [
      ['RegisteredMachine', 'node', { ...connection(), ...other, desired_role: 'controlplane' }],
      approval({ ...proposal, hostname: 'cp2.example', approval_timeout_seconds: 120 }),
    ]);
    let waiting = '';
    await eventuallyHolds(async () => {
      const { body } = await broker.admin.get('/api/v1/machines?status=pending_approval');
      waiting = body[0].machine_id as string;
      const votes = await broker.admin.get(`/api/v1/machines/${waiting}/approvals`);
      expect(votes.body).toHaveLength(1);
    }, 60_000);
    await ben.post(`/api/v1/machines/${waiting}/approve`, { role: 'controlplane', hostname: 'cp2.example' });
    succeeded(await run);
    expect((await live(waiting)).status).toBe('registered');
  }, 300_000);
});
