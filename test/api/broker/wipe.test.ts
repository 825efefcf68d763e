import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NodeEvent } from '../../../domain/broker/events.js';
import { wipeProgress } from '../../../workflows/broker/messages.js';
import { workflowIds } from '../../../workflows/ids.js';
import { softwareEk } from '../../support/ek.js';
import { eventuallyHolds } from '../../support/eventually.js';
import { brokerWorld } from '../../support/world.js';
import type { BrokerWorld } from '../../support/world.js';

describe('revoke with wipe', () => {
  let world: BrokerWorld;
  const events: NodeEvent[] = [];
  beforeAll(async () => {
    world = await brokerWorld({ worker: true, settings: { SVC_WIPE_DEADLINE_SECONDS: '2' } });
    world.bus.subscribe('*', (event) => void events.push(event), 'collector');
  });
  afterAll(() => world.close());

  const attested = async () => {
    const ek = softwareEk();
    const { body } = await world.node.post('/api/v1/register', ek);
    await world.node.post('/api/v1/attest', ek);
    return { ek, machineId: body.machine_id as string };
  };

  it('is followed by a workflow from the revocation to the report, and late ones are raised once', async () => {
    const { ek, machineId } = await attested();
    await world.admin.post(`/api/v1/machines/${machineId}/revoke`, { wipe: true });
    const handle = world.temporal!.client.workflow.getHandle(workflowIds.revoke(machineId));
    await eventuallyHolds(async () =>
      expect(await handle.query(wipeProgress)).toMatchObject({ told: false }),
    );

    expect((await world.node.post('/api/v1/attest', ek)).body.action).toBe('wipe');
    await eventuallyHolds(async () =>
      expect(await handle.query(wipeProgress)).toMatchObject({ told: true, completed: false }),
    );
    await eventuallyHolds(async () =>
      expect(await handle.query(wipeProgress)).toMatchObject({ overdue: true }),
    );
    const raised = await world.db('machines').first('wipe_overdue_at').where({ machine_id: machineId });
    expect(raised.wipe_overdue_at).not.toBeNull();

    await world.admin.post(`/api/v1/machines/${machineId}/wipe-complete`);
    expect(await handle.result()).toBe('completed-late');
    const { body } = await world.admin.get(`/api/v1/machines/${machineId}`);
    expect(body).toMatchObject({ status: 'revoked', wipe_pending: false });
    expect(body.wipe_completed_at).not.toBeNull();
  });

  it('sends every event of a machine, with the payload of the specification', async () => {
    const { ek, machineId } = await attested();
    await world.admin.post(`/api/v1/machines/${machineId}/revoke`, { reason: 'sold' });
    await eventuallyHolds(() =>
      expect(
        events.filter((event) => event.node['machine_id'] === machineId).map((event) => event.event),
      ).toEqual(['node.registered', 'node.online', 'node.decommissioned']),
    );
    const [registered, online, gone] = events.filter((event) => event.node['machine_id'] === machineId);
    expect(registered).toMatchObject({
      ek_fingerprint: ek.ek_fingerprint,
      node: { role: 'worker-app', status: 'registered', iso_url: 'https://images.test/node.iso' },
    });
    expect(registered?.node['config_url']).toMatch(/\/api\/v1\/config\/[\w-]{43}$/);
    expect(online?.node).toMatchObject({
      hostname: null,
      role: 'worker-app',
      config_url: registered?.node['config_url'],
    });
    expect(online?.node['attested_at']).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(gone?.meta).toMatchObject({ reason: 'sold' });
  });
});
